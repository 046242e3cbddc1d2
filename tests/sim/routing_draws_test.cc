#include "sim/routing_draws.h"

#include <cmath>

#include "costmodel/expert_load.h"
#include "sim/linear_timer.h"
#include "tests/catch.h"
#include "tests/sim/deployments.h"

namespace shardplan {
namespace {

double mean_excess(const RoutingDraws& draws, std::int64_t tokens) {
  return static_cast<double>(draws.excess(tokens, 0, RoutingDraws::kSteps)) / static_cast<double>(RoutingDraws::kUnit * RoutingDraws::kSteps);
}

TEST_CASE("Rows of a rank: shares add up to a token's picks, the busiest is the price's") {
  const auto ranks = rank_shares(parse_expert_load("zipf:0.8"), 64, 6, 8, 0);
  REQUIRE(ranks.size() == 8);
  double sum = 0;
  double most = 0;
  for (const RankShare& rank : ranks) {
    sum += rank.rows_per_token_ratio;
    most = std::max(most, rank.rows_per_token_ratio);
    CHECK(rank.variance_per_token_ratio < rank.rows_per_token_ratio);
  }
  CHECK(sum == Approx(6));
  CHECK(most == Approx(ExpertLoadModel(parse_expert_load("zipf:0.8"), 64, 6, 8, 0).busiest_rows(1)));
}

// The largest of n normals is about 1.42 deviations above the mean for n = 8. Of 1024 tokens picking 8 of 256 experts a rank of
// 8 gets 1024 +/- 31.5 rows, a little less as they add up.
TEST_CASE("Uniform routing: the busiest rank of a step has more than its share, less so the more tokens") {
  const RoutingDraws draws(rank_shares({}, 256, 8, 8, 0), 58, 7);
  CHECK(mean_excess(draws, 1024) == Approx(1.42 * 31.5 / 1024).epsilon(0.15));
  CHECK(mean_excess(draws, 1) > mean_excess(draws, 64));
  CHECK(mean_excess(draws, 64) > mean_excess(draws, 1024));
  CHECK(mean_excess(draws, 1 << 20) < 0.003);
}

TEST_CASE("Skewed routing: with many tokens the rank that is busiest on average is the busiest") {
  const RoutingDraws draws(rank_shares(parse_expert_load("zipf:1"), 256, 8, 8, 0), 58, 7);
  CHECK(std::abs(mean_excess(draws, 1 << 16)) < 0.005);
}

TEST_CASE("Runs of steps add up however they are cut, beyond the table too") {
  const RoutingDraws draws(rank_shares({}, 64, 8, 16, 0), 40, 3);
  for (const std::int64_t first : {0, 700, 1023, 5000}) {
    std::int64_t one_by_one = 0;
    for (std::int64_t i = 0; i < 2500; ++i) one_by_one += draws.excess(96, first + i, 1);
    CHECK(draws.excess(96, first, 2500) == one_by_one);
  }
}

TEST_CASE("A step waits for the busiest rank of its own routing") {
  LinearLaw law = round_law();
  law.routed = SimTime(5 * kMillisecond);
  const RoutingDraws draws(rank_shares({}, 64, 8, 16, 0), 40, 3);
  const auto end_of = [&](const RoutingDraws* routing) {
    LinearTimer timer(law);
    const ListedRun run({{0, 10, 101}}, [&](SimulationInput& input) {
      input.pool.timer = &timer;
      input.pool.instance.routing = routing;
    });
    return milliseconds(run.records.of(0).e2e());
  };
  const std::int64_t first = RoutingDraws::first_draw(0);
  const double expected = end_of(nullptr);
  const double drawn = end_of(&draws);
  const double unit = static_cast<double>(RoutingDraws::kUnit);
  const double wait = 5 * static_cast<double>(draws.excess(10, first, 1) + draws.excess(1, first + 1, 100)) / unit;
  CHECK(drawn - expected == Approx(wait).epsilon(1e-3));
  CHECK(wait > 0);
}

}  // namespace
}  // namespace shardplan
