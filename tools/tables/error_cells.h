// Error statistics as the cells of a table, in %.
#pragma once

#include <string>

#include "planner/measured/error_stats.h"

namespace shardplan {

struct ErrorCells {
  std::string count, mean, median, p90, bias, coverage;  // "-" of no point, and where none has an interval
};
[[nodiscard]] ErrorCells cells_of(const ErrorStats& errors);

}  // namespace shardplan
