// A sample of times in bounded memory: exact mean and maximum, percentiles exact while the sample is small.
//
// Values and weights are kept as they come up to kExactValues distinct entries; beyond that they are counted in buckets
// of relative width 2^-10, so that a percentile is off by at most 0.1 %. A percentile p is the smallest value such that
// p % of the weight is at or below it (nearest rank).
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "sim/sim_time.h"

namespace shardplan {

// In the unit of the documents: seconds.
struct TimeSummary {
  std::int64_t count = 0;
  Seconds mean;
  Seconds p50;
  Seconds p90;
  Seconds p99;
  Seconds max;
};

class Distribution {
 public:
  static constexpr std::size_t kExactValues = 65'536;

  void add(SimTime value, std::int64_t weight = 1) { add_run(value, SimTime(0), 1, weight); }
  // first, first + increment, ...: `count` values of equal weight. Values are never negative.
  void add_run(SimTime first, SimTime increment, std::int64_t count, std::int64_t weight);

  [[nodiscard]] std::int64_t count() const { return count_; }
  [[nodiscard]] SimTime max() const { return max_; }
  [[nodiscard]] Seconds mean() const;
  // percent in (0, 100]; 0 s when empty.
  [[nodiscard]] SimTime percentile(double percent_ratio) const;
  [[nodiscard]] TimeSummary summary() const;

 private:
  void fold();
  void count_in_bucket(std::int64_t value, std::int64_t weight);
  void count_run(std::int64_t first, std::int64_t increment, std::int64_t count, std::int64_t weight);

  std::vector<std::pair<std::int64_t, std::int64_t>> values_;   // (value, weight), while exact
  std::vector<std::int64_t> buckets_;
  bool exact_ = true;
  std::int64_t count_ = 0;
  double sum_ = 0;
  SimTime min_;
  SimTime max_;
};

}  // namespace shardplan
