// Switching a pruning pass off never changes the best plan.
#include "planner/search/passes.h"

#include "tests/catch.h"
#include "tests/planner/requests.h"

namespace shardplan {
namespace {

struct Case {
  Ask ask;
  Objective objective = Objective::kThroughput;
};

std::vector<Case> cases() {
  return {
      {{.model = "llama-3.1-70b", .gpus = 8, .tpot_ms = 50}},
      {{.model = "qwen3-235b-a22b", .gpus = 8, .isl = 4096, .osl = 1024, .concurrency = 64}},
      {{.model = "qwen3-30b-a3b", .gpus = 4, .isl = 1024, .osl = 1024}},
      {{.model = "deepseek-v3", .gpus = 8, .isl = 4096, .osl = 512, .tpot_ms = 60}},
      {{.model = "qwen3-235b-a22b", .gpus = 8, .isl = 65536, .osl = 256}, Objective::kLatency},
      {{.model = "gpt-oss-120b", .hardware = "h100-sxm", .gpus = 6, .concurrency = 18}, Objective::kInteractivity},
      {{.model = "llama-3.1-8b", .gpus = 5, .isl = 512, .osl = 512, .tpot_ms = 20}, Objective::kCost},
      {{.model = "qwen3-30b-a3b", .gpus = 8, .engine = "vllm", .tpot_ms = 25}},
      {{.model = "llama-3.1-405b", .hardware = "h100-sxm", .gpus = 16, .isl = 512, .concurrency = 64}},
  };
}

PlanRequest request_of(const Case& c) {
  PlanRequest request = request_for(c.ask);
  request.objective = c.objective;
  request.top = 3;
  request.pareto = false;
  return request;
}

TEST_CASE("Switching a pruning pass off never changes the best plan", "[slow]") {
  for (const Case& c : cases()) {
    PlanRequest request = request_of(c);
    const PlanResult with = search_plans(request);
    REQUIRE(!with.plans.empty());
    for (const SearchPass& pass : search_passes()) {
      if (!pass.prunes) continue;
      request.disabled_passes = {pass.name};
      const PlanResult without = search_plans(request);
      INFO(c.ask.model << " on " << c.ask.gpus << " GPUs, without " << pass.name << ": "
                       << short_text(without.plans.front().config) << " against "
                       << short_text(with.plans.front().config));
      CHECK(without.plans.front().score == Approx(with.plans.front().score).epsilon(1e-6));
      CHECK(without.plans.front().config == with.plans.front().config);
    }
  }
}

TEST_CASE("The bound changes none of the kept plans") {
  for (const Case& c : cases()) {
    PlanRequest request = request_of(c);
    request.top = 8;
    const PlanResult with = search_plans(request);
    request.disabled_passes = {"bound"};
    const PlanResult without = search_plans(request);
    REQUIRE(with.plans.size() == without.plans.size());
    for (std::size_t i = 0; i < with.plans.size(); ++i) {
      INFO(c.ask.model << " plan " << i);
      CHECK(with.plans[i].score == Approx(without.plans[i].score).epsilon(1e-6));
    }
  }
}

TEST_CASE("Every pass is named once and explained") {
  for (const SearchPass& pass : search_passes()) CHECK(std::string(pass.help).size() > 10);
  PlanRequest request;
  CHECK(is_on(request, "bound"));
  request.disabled_passes = {"bound", "cost"};
  CHECK(!is_on(request, "bound"));
  CHECK(is_on(request, "cost"));  // not a pruning pass
}

}  // namespace
}  // namespace shardplan
