// When a measurement has seen enough: the median is known to 1 %, or time is up.
//
// Other programs on the machine take cores away in the middle of samples. Each sample knows how much of it was so lost (see
// CoreWait); those that lost next to nothing count, and where there are too few the least disturbed, less what all ranks lost, but
// no less than the busiest one worked.
// The half-width of the median's interval is taken from the quartiles: 1.57 (q75 - q25) / sqrt(n) (McGill, Tukey, Larsen 1978).
#pragma once

#include <cstddef>
#include <vector>

namespace shardplan {

struct StoppingRule {
  std::size_t least_samples = 7;
  double median_ratio = 0.01;        // half-width over the median
  double least_seconds = 0.01;
  double most_seconds = 0.5;

  [[nodiscard]] bool is_enough(const std::vector<double>& samples, double elapsed_seconds) const;
};

struct Sample {
  double seconds = 0;   // of the slowest rank
  double lost = 0;      // while it was taken and while ranks gathered for it, of the rank that waited longest for a core
  double within = 0;    // while it was taken, of all ranks: they may wait for one another in turn
  double busy = 0;      // on a core, of the busiest rank
  [[nodiscard]] bool is_quiet() const { return lost <= 0.01 * seconds; }
  void absorb(const Sample& other);   // another rank's
};

struct SampleSummary {
  double median = 0;
  double p10 = 0;
  double p90 = 0;
  std::size_t used = 0;     // samples that count
  [[nodiscard]] double spread() const { return median > 0 ? (p90 - p10) / median : 0; }
};
// Precondition: samples are not empty.
[[nodiscard]] SampleSummary summary_of(const std::vector<double>& samples);
// As many count as `rule` asks for at least.
[[nodiscard]] SampleSummary summary_of(const std::vector<Sample>& samples, const StoppingRule& rule = {});

}  // namespace shardplan
