// The array `data_movement` of a document.
#pragma once

#include <vector>

#include "planner/data_movement.h"
#include "tools/documents/document.h"

namespace shardplan {

[[nodiscard]] Document movement_document(const std::vector<DataMovement>& rows);

}  // namespace shardplan
