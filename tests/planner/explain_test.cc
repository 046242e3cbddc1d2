#include "planner/explain.h"

#include <algorithm>

#include "planner/sensitivity.h"
#include "tests/base/message_of.h"
#include "tests/catch.h"
#include "tests/planner/requests.h"

namespace shardplan {
namespace {

TEST_CASE("Shares of a token's time add up, largest first, and the largest is what binds") {
  const PlanRequest request = request_for({.model = "llama-3.1-70b", .gpus = 8, .engine = "vllm", .concurrency = 32});
  const Explanation text = explain(request, search_plans(request));
  REQUIRE(text.found);
  REQUIRE(!text.shares.empty());
  double sum = 0;
  for (const TimeShare& share : text.shares) {
    CHECK(share.share_ratio <= text.shares.front().share_ratio);
    sum += share.share_ratio;
  }
  CHECK(sum == Approx(1));
  CHECK_THAT(text.binds, contains_text(text.shares.front().what));
  CHECK(!text.runner_up.empty());
  CHECK(text.margin_ratio >= 0);
}

TEST_CASE("A decode of one dense model for one user is bound by memory bandwidth") {
  const PlanRequest request =
      request_for({.model = "llama-3.1-8b", .gpus = 1, .engine = "vllm", .isl = 128, .osl = 1024, .concurrency = 1});
  const Explanation text = explain(request, search_plans(request));
  REQUIRE(text.found);
  CHECK(text.shares.front().what == "memory bandwidth");
}

TEST_CASE("More of a resource never lowers the winner's own score by more than the search's step") {
  const PlanRequest request = request_for({.model = "qwen3-235b-a22b", .gpus = 8, .engine = "vllm", .concurrency = 64});
  const auto list = sensitivities(request, search_plans(request));
  REQUIRE(!list.empty());
  for (const Sensitivity& s : list) {
    INFO(s.message);
    CHECK(!s.message.empty());
    if (s.change.find("bandwidth") != std::string::npos || s.change.find("compute") != std::string::npos)
      CHECK(s.score_ratio >= 0.999);
  }
}

TEST_CASE("Longer prompts change the order when they change who wins a search") {
  const PlanRequest request =
      request_for({.model = "llama-3.1-70b", .gpus = 8, .engine = "vllm", .isl = 1024, .osl = 1024, .concurrency = 64});
  const Explanation text = explain(request, search_plans(request));
  const bool told = std::any_of(text.sensitivity.begin(), text.sensitivity.end(),
                                [](const Sensitivity& s) { return s.change == "concurrency x2"; });
  CHECK(told);
}

TEST_CASE("Without a winner the nearest changes are all there is") {
  const PlanRequest request = request_for({.model = "llama-3.1-405b", .hardware = "h100-sxm", .gpus = 4});
  const Explanation text = explain(request, search_plans(request));
  CHECK(!text.found);
  CHECK(!text.nearest_feasible.empty());
  CHECK(!text.families.empty());
}

}  // namespace
}  // namespace shardplan
