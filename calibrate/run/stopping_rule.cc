#include "calibrate/run/stopping_rule.h"

#include <algorithm>
#include <cmath>

namespace shardplan {
namespace {

double quantile(const std::vector<double>& sorted, double share) {
  const double at = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (at - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

}  // namespace

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
  std::vector<double> sorted = samples;
  std::sort(sorted.begin(), sorted.end());
  const double width = 1.57 * (quantile(sorted, 0.75) - quantile(sorted, 0.25)) / std::sqrt(static_cast<double>(sorted.size()));
  return width <= median_ratio * quantile(sorted, 0.5);
}

SampleSummary summary_of(std::vector<double> samples) {
  std::sort(samples.begin(), samples.end());
  return {quantile(samples, 0.5), quantile(samples, 0.1), quantile(samples, 0.9), samples.size()};
}

SampleSummary summary_of(const std::vector<Sample>& samples, const StoppingRule& rule) {
  std::vector<double> quiet;
  for (const Sample& sample : samples) {
    if (sample.is_quiet()) quiet.push_back(sample.seconds);
  }
  if (quiet.size() >= rule.least_samples || quiet.size() == samples.size()) return summary_of(std::move(quiet));
  std::vector<Sample> order = samples;
  std::stable_sort(order.begin(), order.end(), [](const Sample& a, const Sample& b) { return a.lost * b.seconds < b.lost * a.seconds; });
  order.resize(std::max<std::size_t>(std::min(order.size(), rule.least_samples), order.size() / 4));
  std::vector<double> least;
  for (const Sample& sample : order) least.push_back(std::max({sample.seconds - sample.within, sample.busy, 0.01 * sample.seconds}));
  return summary_of(std::move(least));
}

}  // namespace shardplan
