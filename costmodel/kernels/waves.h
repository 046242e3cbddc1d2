// What the forms share: waves of thread blocks over the SMs, and the norm that joins two times.
#pragma once

#include <algorithm>
#include <cmath>

namespace shardplan {

// Waves that `blocks` over `sms` take: between the fraction (blocks of many kernels and sizes interleave) and the whole
// number, by `weight`; never under one.
[[nodiscard]] inline double waves(double blocks, double sms, double weight) {
  const double fraction = std::max(blocks / sms, 1.0);
  return (fraction + weight * std::ceil(fraction)) / (1 + weight);
}

// (a^p + b^p)^(1/p): at least the greater.
[[nodiscard]] inline double joined(double a, double b, double p) {
  const double high = std::max(a, b);
  const double low = std::min(a, b);
  if (low <= 0 || high <= 0) return high;
  return high * std::exp2(std::log2(1 + std::exp2(p * std::log2(low / high))) / p);
}

}  // namespace shardplan
