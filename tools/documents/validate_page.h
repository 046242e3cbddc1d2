// The reports of `shardplan validate` as one HTML page, one after the other: error tables and scatter plots.
#pragma once

#include <string>
#include <vector>

#include "planner/measured/point_report.h"
#include "planner/measured/report.h"

namespace shardplan {

[[nodiscard]] std::string validate_page(const std::vector<ValidateReport>& serving,
                                        const std::vector<PointReport>& points);

}  // namespace shardplan
