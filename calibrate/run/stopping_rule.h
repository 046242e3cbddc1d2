// When a measurement has seen enough: the median is known to 1 %, or time is up.
//
// The half-width of the median's interval is taken from the quartiles: 1.57 (q75 - q25) / sqrt(n) (McGill, Tukey, Larsen 1978).
#pragma once

#include <vector>

namespace shardplan {

struct StoppingRule {
  std::size_t least_samples = 7;
  double median_ratio = 0.01;        // half-width over the median
  double least_seconds = 0.01;
  double most_seconds = 0.5;

  [[nodiscard]] bool is_enough(const std::vector<double>& samples, double elapsed_seconds) const;
};

struct SampleSummary {
  double median = 0;
  double p10 = 0;
  double p90 = 0;
  [[nodiscard]] double spread() const { return median > 0 ? (p90 - p10) / median : 0; }
};
// Precondition: samples are not empty.
[[nodiscard]] SampleSummary summary_of(std::vector<double> samples);

}  // namespace shardplan
