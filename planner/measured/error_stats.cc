#include "planner/measured/error_stats.h"

#include <cmath>

#include "base/quantile.h"

namespace shardplan {

ErrorStats stats_of(const std::vector<ErrorPair>& pairs) {
  ErrorStats out;
  std::vector<double> ape, bias;
  double within = 0, with_interval = 0;
  for (const ErrorPair& p : pairs) {
    bias.push_back(p.predicted / p.measured - 1);
    ape.push_back(std::abs(bias.back()));
    out.mean_ape += ape.back();
    if (p.p10 >= p.p90) continue;
    ++with_interval;
    const double ratio = p.measured / p.predicted;
    if (ratio >= p.p10 && ratio <= p.p90) ++within;
  }
  out.count = static_cast<std::int64_t>(pairs.size());
  if (pairs.empty()) return out;
  const auto n = static_cast<double>(pairs.size());
  out.mean_ape /= n;
  if (with_interval > 0) out.interval_coverage = within / with_interval;
  out.median_ape = quantile(ape, 0.5);
  out.p90_ape = quantile(ape, 0.9);
  out.bias_median = quantile(bias, 0.5);
  return out;
}

}  // namespace shardplan
