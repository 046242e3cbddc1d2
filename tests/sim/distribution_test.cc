#include "sim/metrics/distribution.h"

#include <rapidcheck.h>

#include <algorithm>

#include "sim/random.h"
#include "tests/catch.h"

namespace shardplan {
namespace {

TEST_CASE("Percentiles of a small sample are nearest ranks, weights counted") {
  Distribution d;
  d.add_run(SimTime(1), SimTime(1), 100, 1);   // 1..100
  CHECK(d.percentile(50) == SimTime(50));
  CHECK(d.percentile(99) == SimTime(99));
  CHECK(d.percentile(100) == SimTime(100));
  CHECK(d.mean().value() * 1e12 == Approx(50.5));
  d.add(SimTime(1000), 900);
  CHECK(d.percentile(10) == SimTime(100));
  CHECK(d.percentile(11) == SimTime(1000));
  CHECK(d.count() == 1000);
}

TEST_CASE("Percentiles of a large sample are within 0.1 %") {
  Distribution d;
  std::vector<std::int64_t> all;
  Random random(1, "sample");
  for (int i = 0; i < 200'000; ++i) {
    all.push_back(static_cast<std::int64_t>(1e9 * random.exponential_ratio()) + 1);
    d.add(SimTime(all.back()));
  }
  std::sort(all.begin(), all.end());
  for (const double p : {1.0, 50.0, 90.0, 99.0, 99.9}) {
    const auto exact = static_cast<double>(all[static_cast<std::size_t>(p / 100 * 200'000) - 1]);
    CHECK(static_cast<double>(d.percentile(p).value()) == Approx(exact).epsilon(0.001));
  }
  CHECK(d.max().value() == all.back());
}

TEST_CASE("A run of values counts as its values do") {
  CHECK(rc::check([] {
    Distribution run, single;
    for (Distribution* d : {&run, &single}) d->add_run(SimTime(7), SimTime(0), 1, 1);
    const auto fill = static_cast<std::int64_t>(Distribution::kExactValues);
    for (Distribution* d : {&run, &single}) d->add_run(SimTime(5), SimTime(1), fill, 1);   // no longer exact
    const SimTime first(*rc::gen::inRange<std::int64_t>(0, 1'000'000));
    const SimTime increment(*rc::gen::inRange<std::int64_t>(0, 5'000));
    const auto count = *rc::gen::inRange<std::int64_t>(1, 300);
    run.add_run(first, increment, count, 3);
    for (std::int64_t i = 0; i < count; ++i) single.add(first + increment * i, 3);
    for (const double p : {0.5, 25.0, 50.0, 75.0, 99.0, 100.0}) RC_ASSERT(run.percentile(p) == single.percentile(p));
    RC_ASSERT(run.count() == single.count());
  }));
}

TEST_CASE("An empty sample has zeros") {
  CHECK(Distribution().summary().p99 == Seconds(0));
}

}  // namespace
}  // namespace shardplan
