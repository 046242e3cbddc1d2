// The report of `shardplan validate` as one HTML page: error tables and scatter plots as inline SVG; opens offline.
#pragma once

#include <string>

#include "planner/measured/report.h"

namespace shardplan {

[[nodiscard]] std::string validate_page(const ValidateReport& report);

}  // namespace shardplan
