// shardplan.validate_points/1: a report of measured points.
#pragma once

#include <string>

#include "planner/measured/point_report.h"

namespace shardplan {

[[nodiscard]] std::string point_document(const PointReport& report);

}  // namespace shardplan
