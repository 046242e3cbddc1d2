#include "sim/metrics/distribution.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace shardplan {
namespace {

constexpr int kBitsPerOctave = 10;
constexpr std::int64_t kPerOctave = std::int64_t{1} << kBitsPerOctave;

// Values below 2^10 have a bucket each, then 2^10 buckets per power of two.
std::size_t bucket_of(std::int64_t value) {
  const int octave = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(value))) - 1;
  const int shift = std::max(0, octave - kBitsPerOctave);
  return static_cast<std::size_t>(shift * kPerOctave + (value >> shift));
}

// Largest value of a bucket.
std::int64_t top_of(std::size_t bucket) {
  const auto b = static_cast<std::int64_t>(bucket);
  if (b < 2 * kPerOctave) return b;
  const std::int64_t shift = b / kPerOctave - 1;
  return ((b - shift * kPerOctave + 1) << shift) - 1;
}

constexpr std::size_t kBuckets = std::size_t{64 - kBitsPerOctave} << kBitsPerOctave;

}  // namespace

void Distribution::add_run(SimTime first, SimTime increment, std::int64_t count, std::int64_t weight) {
  if (count <= 0 || weight <= 0) return;
  const SimTime last = first + increment * (count - 1);
  min_ = count_ == 0 ? std::min(first, last) : std::min({min_, first, last});
  max_ = std::max({max_, first, last});
  count_ += count * weight;
  sum_ += (static_cast<double>(first.value()) + static_cast<double>(last.value())) / 2 * static_cast<double>(count) * static_cast<double>(weight);
  if (exact_ && values_.size() + static_cast<std::size_t>(count) > kExactValues) fold();
  if (!exact_) return count_run(first.value(), increment.value(), count, weight);
  for (std::int64_t i = 0; i < count; ++i) values_.emplace_back((first + increment * i).value(), weight);
}

void Distribution::fold() {
  buckets_.assign(kBuckets, 0);
  for (const auto& [value, weight] : values_) count_in_bucket(value, weight);
  values_.clear();
  values_.shrink_to_fit();
  exact_ = false;
}

void Distribution::count_in_bucket(std::int64_t value, std::int64_t weight) { buckets_[bucket_of(value)] += weight; }

// Bucket by bucket: rising values fill one bucket after another.
void Distribution::count_run(std::int64_t first, std::int64_t increment, std::int64_t count, std::int64_t weight) {
  if (increment < 0) return count_run(first + increment * (count - 1), -increment, count, weight);
  while (count > 0) {
    const std::size_t bucket = bucket_of(first);
    const std::int64_t within = increment == 0 ? count : std::min(count, (top_of(bucket) - first) / increment + 1);
    buckets_[bucket] += within * weight;
    first += increment * within;
    count -= within;
  }
}

Seconds Distribution::mean() const { return Seconds(count_ == 0 ? 0 : sum_ / static_cast<double>(count_) / kPicosecondsPerSecond); }

SimTime Distribution::percentile(double percent_ratio) const {
  if (count_ == 0) return SimTime(0);
  auto rank = std::max<std::int64_t>(1, static_cast<std::int64_t>(std::ceil(percent_ratio / 100 * static_cast<double>(count_))));
  if (exact_) {
    auto sorted = values_;
    std::sort(sorted.begin(), sorted.end());
    for (const auto& [value, weight] : sorted) {
      if ((rank -= weight) <= 0) return SimTime(value);
    }
    return max_;
  }
  for (std::size_t bucket = 0; bucket < buckets_.size(); ++bucket) {
    if ((rank -= buckets_[bucket]) <= 0) return std::clamp(SimTime(top_of(bucket)), min_, max_);
  }
  return max_;
}

TimeSummary Distribution::summary() const {
  return {.count = count_, .mean = mean(), .p50 = to_seconds(percentile(50)), .p90 = to_seconds(percentile(90)),
          .p99 = to_seconds(percentile(99)), .max = to_seconds(max_)};
}

}  // namespace shardplan
