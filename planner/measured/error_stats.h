// Error statistics of predictions: APE = |predicted/measured - 1|, bias = predicted/measured - 1 (its median), coverage
// = share of measurements within p10..p90.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace shardplan {

struct ErrorStats {
  std::int64_t count = 0;
  double mean_ape = 0, median_ape = 0, p90_ape = 0, bias_median = 0;
  std::optional<double> interval_coverage;  // of those with an interval
};

// One prediction of one quantity, and the interval of measured/predicted (1, 1: none is given).
struct ErrorPair {
  double predicted = 0, measured = 0;
  double p10 = 1, p90 = 1;
};

[[nodiscard]] ErrorStats stats_of(const std::vector<ErrorPair>& pairs);

}  // namespace shardplan
