// Reports of measured points for people.
#pragma once

#include <string>

#include "planner/measured/point_report.h"

namespace shardplan {

[[nodiscard]] std::string point_table(const PointReport& report);

}  // namespace shardplan
