#include "base/quantile.h"

#include <algorithm>

namespace shardplan {

double quantile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  const double place = share * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::ptrdiff_t>(place);
  const auto at = values.begin() + below;
  std::nth_element(values.begin(), at, values.end());
  if (at + 1 == values.end()) return *at;
  const double above = *std::min_element(at + 1, values.end());
  return *at + (above - *at) * (place - static_cast<double>(below));
}

}  // namespace shardplan
