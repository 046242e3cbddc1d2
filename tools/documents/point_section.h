// The part of a page that a report of measured points is: error tables and scatter plots.
#pragma once

#include <string>

#include "planner/measured/point_report.h"

namespace shardplan {

[[nodiscard]] std::string point_section(const PointReport& report);

}  // namespace shardplan
