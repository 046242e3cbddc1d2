#include "planner/search/pareto.h"

#include <rapidcheck.h>

#include "tests/catch.h"
#include "tests/planner/requests.h"

namespace shardplan {
namespace {

TEST_CASE("A front keeps what nothing beats in both") {
  const auto front = non_dominated({{1, 5}, {2, 4}, {2, 3}, {3, 1}, {0.5, 5}, {1.5, 4}});
  CHECK(front == std::vector<std::size_t>{3, 1, 0});
  CHECK(non_dominated({}).empty());
}

TEST_CASE("No point of any set dominates one of its front") {
  CHECK(rc::check([](const std::vector<std::pair<int, int>>& raw) {
    std::vector<FrontPoint> points;
    for (const auto& [x, y] : raw) points.push_back({static_cast<double>(x), static_cast<double>(y)});
    const auto front = non_dominated(points);
    RC_ASSERT(front.empty() == points.empty());
    for (const std::size_t i : front) {
      for (const FrontPoint& other : points) {
        const bool better =
            other.x >= points[i].x && other.y >= points[i].y && (other.x > points[i].x || other.y > points[i].y);
        RC_ASSERT(!better);
      }
    }
  }));
}

TEST_CASE("A plan's front falls from the fastest user to the cheapest token") {
  const PlanResult result = search_plans(request_for({.model = "llama-3.1-70b", .gpus = 8, .engine = "vllm"}));
  REQUIRE(result.pareto.size() >= 3);
  for (std::size_t i = 1; i < result.pareto.size(); ++i) {
    CHECK(result.pareto[i].serving.tokens_per_second_per_user <
          result.pareto[i - 1].serving.tokens_per_second_per_user);
    CHECK(result.pareto[i].serving.output_tokens_per_second_per_gpu >
          result.pareto[i - 1].serving.output_tokens_per_second_per_gpu);
  }
  // The ends are the two objectives' own winners.
  PlanRequest fast = request_for({.model = "llama-3.1-70b", .gpus = 8, .engine = "vllm"});
  fast.objective = Objective::kInteractivity;
  const PlanResult fastest = search_plans(fast);
  CHECK(result.pareto.front().serving.tokens_per_second_per_user >=
        fastest.plans.front().serving.tokens_per_second_per_user * 0.999);
  CHECK(result.pareto.back().serving.output_tokens_per_second_per_gpu >=
        result.plans.front().serving.output_tokens_per_second_per_gpu * 0.999);
}

}  // namespace
}  // namespace shardplan
