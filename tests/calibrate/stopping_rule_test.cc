// When a measurement has seen enough, and which of its samples count.
#include "calibrate/run/stopping_rule.h"
#include "tests/catch.h"

namespace shardplan {
namespace {

TEST_CASE("a measurement ends when the median is known, or when time is up") {
  const StoppingRule rule{.least_samples = 4, .median_ratio = 0.01, .least_seconds = 0.1, .most_seconds = 1};
  CHECK_FALSE(rule.is_enough({1, 1, 1}, 0.5));
  CHECK(rule.is_enough({1, 1, 1}, 4.1));  // few, but it cannot go on for ever
  CHECK_FALSE(rule.is_enough({}, 4.1));
  CHECK_FALSE(rule.is_enough({1, 1, 1, 1}, 0.05));
  CHECK(rule.is_enough({1, 1, 1, 1}, 0.2));
  CHECK_FALSE(rule.is_enough({1, 1.5, 1, 1.5}, 0.2));
  CHECK(rule.is_enough({1, 1.5, 1, 1.5}, 1));
}

TEST_CASE("samples that lost nothing count where there are as many as the rule asks for") {
  std::vector<Sample> samples{{.seconds = 1.0, .busy = 1.0}, {.seconds = 1.1, .busy = 1.1}, {.seconds = 1.2, .busy = 1.2}};
  for (int i = 0; i < 9; ++i) samples.push_back({.seconds = 5, .lost = 1, .within = 1, .busy = 1.5});
  const SampleSummary three = summary_of(samples, {.least_samples = 3});
  CHECK(three.used == 3);
  CHECK(three.median == Approx(1.1));
  // Seven are asked for: the least disturbed with them, less what they lost.
  const SampleSummary seven = summary_of(samples, {.least_samples = 7});
  CHECK(seven.used == 7);
  CHECK(seven.median == Approx(4));
  CHECK(summary_of(std::vector<Sample>(samples.begin(), samples.begin() + 2), {.least_samples = 7}).used == 2);
}

TEST_CASE("a sample is never less than its busiest rank worked") {
  const std::vector<Sample> samples(8, Sample{.seconds = 5, .lost = 4, .within = 4.5, .busy = 2});
  CHECK(summary_of(samples).median == Approx(2));
}

}  // namespace
}  // namespace shardplan
