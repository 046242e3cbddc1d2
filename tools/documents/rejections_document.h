// The array `rejected` of a document: families of configurations that were refused, each with its nearest miss.
#pragma once

#include <vector>

#include "planner/plan.h"
#include "tools/documents/document.h"

namespace shardplan {

[[nodiscard]] Document rejections_document(const std::vector<Rejection>& rejected);

}  // namespace shardplan
