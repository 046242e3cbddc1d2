// Quantiles of samples.
#pragma once

#include <vector>

namespace shardplan {

// The value below which `share` of the values lie, between neighbours by linear interpolation (of n values the
// place share*(n-1)); 0 of none.
[[nodiscard]] double quantile(std::vector<double> values, double share);

}  // namespace shardplan
