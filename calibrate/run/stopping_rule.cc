#include "calibrate/run/stopping_rule.h"

#include <algorithm>
#include <cmath>

#include "base/quantile.h"

namespace shardplan {
void Sample::absorb(const Sample& other) {
  seconds = std::max(seconds, other.seconds);
  lost = std::max(lost, other.lost);
  within += other.within;
  busy = std::max(busy, other.busy);
}

bool StoppingRule::is_enough(const std::vector<double>& samples, double elapsed_seconds) const {
  if (samples.size() < least_samples) return elapsed_seconds > 4 * most_seconds && !samples.empty();
  if (elapsed_seconds >= most_seconds) return true;
  if (elapsed_seconds < least_seconds) return false;
  const double width =
      1.57 * (quantile(samples, 0.75) - quantile(samples, 0.25)) / std::sqrt(static_cast<double>(samples.size()));
  return width <= median_ratio * quantile(samples, 0.5);
}

SampleSummary summary_of(const std::vector<double>& samples) {
  return {quantile(samples, 0.5), quantile(samples, 0.1), quantile(samples, 0.9), samples.size()};
}

SampleSummary summary_of(const std::vector<Sample>& samples, const StoppingRule& rule) {
  std::vector<double> quiet;
  for (const Sample& sample : samples) {
    if (sample.is_quiet()) quiet.push_back(sample.seconds);
  }
  if (quiet.size() >= rule.least_samples || quiet.size() == samples.size()) return summary_of(quiet);
  std::vector<Sample> order = samples;
  std::stable_sort(order.begin(), order.end(), [](const Sample& a, const Sample& b) { return a.lost * b.seconds < b.lost * a.seconds; });
  order.resize(std::max<std::size_t>(std::min(order.size(), rule.least_samples), order.size() / 4));
  std::vector<double> least;
  for (const Sample& sample : order) least.push_back(std::max({sample.seconds - sample.within, sample.busy, 0.01 * sample.seconds}));
  return summary_of(least);
}

}  // namespace shardplan
