// The object `serving` of a document: the predicted steady state.
#pragma once

#include "planner/serving.h"
#include "tools/documents/document.h"

namespace shardplan {

[[nodiscard]] Document serving_document(const ServingEstimate& serving);

}  // namespace shardplan
