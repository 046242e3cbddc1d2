// docs/accuracy.md: what `shardplan validate --folds --output FILE.md` writes of a table of measured serving points.
#pragma once

#include <string>

#include "planner/measured/report.h"

namespace shardplan {

[[nodiscard]] std::string accuracy_page(const ValidateReport& report);

}  // namespace shardplan
