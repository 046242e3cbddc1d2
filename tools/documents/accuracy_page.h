// docs/accuracy.md: what `shardplan validate --folds --output FILE.md` writes of what was measured: serving points,
// then kernels and other points.
#pragma once

#include <string>
#include <vector>

#include "planner/measured/point_report.h"
#include "planner/measured/report.h"

namespace shardplan {

[[nodiscard]] std::string accuracy_page(const std::vector<ValidateReport>& serving,
                                        const std::vector<PointReport>& points);

}  // namespace shardplan
