// What moves beside the collectives, as a table.
#pragma once

#include <string>
#include <vector>

#include "planner/data_movement.h"

namespace shardplan {

[[nodiscard]] std::string movement_table(const std::vector<DataMovement>& rows);  // "" for none
[[nodiscard]] std::string scaling_table(const std::vector<DataMovement>& rows);   // those of --scale-to alone

}  // namespace shardplan
