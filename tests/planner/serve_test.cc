#include "planner/search/serve.h"

#include <algorithm>

#include "planner/cluster.h"
#include "tests/catch.h"
#include "tests/planner/requests.h"

namespace shardplan {
namespace {

TEST_CASE("There are never more replicas than requests") {
  const PlanRequest request = request_for({.gpus = 8, .concurrency = 3});
  const PlanResult result = search_plans(request);
  REQUIRE(!result.plans.empty());
  for (const Plan& plan : result.plans) CHECK(plan.config.replicas <= 3);
}

TEST_CASE("A rate is served by the fewest replicas that carry it") {
  PlanRequest request = request_for({.gpus = 8, .engine = "vllm", .tpot_ms = 30});
  request.workload.requests_per_second = 4;
  const PlanResult few = search_plans(request);
  REQUIRE(!few.plans.empty());
  CHECK(few.plans.front().config.gpus() < 8);
  request.workload.requests_per_second = 4 * few.plans.front().config.gpus();
  const PlanResult more = search_plans(request);
  REQUIRE(!more.plans.empty());
  CHECK(more.plans.front().config.gpus() >= few.plans.front().config.gpus());
}

TEST_CASE("Plans are sorted by throughput per GPU and meet the targets") {
  for (const Ask& ask : {Ask{.model = "llama-3.1-70b", .gpus = 8, .tpot_ms = 40},
                         Ask{.model = "qwen3-30b-a3b", .gpus = 6, .concurrency = 48, .ttft_ms = 500}}) {
    const PlanRequest request = request_for(ask);
    const PlanResult result = search_plans(request);
    REQUIRE(!result.plans.empty());
    double last = 1e30;
    for (const Plan& plan : result.plans) {
      CHECK(plan.meets_targets);
      CHECK(plan.ledger.fits);
      CHECK(plan.config.gpus() <= request.gpus);
      CHECK(violations_of(request, plan.config).empty());
      CHECK(plan.serving.output_tokens_per_second_per_gpu <= last * (1 + 1e-6));
      last = plan.serving.output_tokens_per_second_per_gpu;
    }
  }
}

// Prompts in steps of 8,192 tokens hold up the others' tokens: under these targets some layouts serve more with shorter ones,
// among them, where that is asked for, a pipeline of attention groups.
TEST_CASE("A layout that needs smaller steps than the engine's own is found with them") {
  struct Case {
    Ask ask;
    std::int64_t pp, dpa;
  };
  const Case cases[] = {
      {{.model = "llama-3.1-70b", .hardware = "h100-sxm", .gpus = 16, .isl = 4096, .osl = 512, .tpot_ms = 50}, 1, 1},
      {{.model = "qwen3-235b-a22b", .hardware = "h100-sxm", .gpus = 16, .isl = 2048, .osl = 512, .tpot_ms = 50}, 2, 8}};
  for (const Case& c : cases) {
    INFO(c.ask.model);
    PlanRequest request = request_for(c.ask);
    request.price.expert_load = served_expert_load();   // with even experts whole steps are the pipeline's best too
    if (c.pp > 1) fix(request, {.pp = c.pp, .dpa = c.dpa}, {"pp", "dpa"});
    const PlanResult result = search_plans(request);
    const auto found = std::find_if(result.plans.begin(), result.plans.end(), [&](const Plan& plan) {
      return plan.max_batched_tokens == 2048 && plan.config.pp == c.pp && plan.config.dpa == c.dpa;
    });
    REQUIRE(found != result.plans.end());
    request.max_batched_tokens = 8192;
    fix(request, found->config, {"dpa", "tp", "ep", "pp", "moe_tp", "replicas"});
    const PlanResult large = search_plans(request);
    bool compared = false;
    for (const Plan& plan : large.plans) {
      if (!(plan.config == found->config)) continue;
      compared = true;
      CHECK(plan.serving.output_tokens_per_second_per_gpu < found->serving.output_tokens_per_second_per_gpu);
    }
    CHECK(compared);
  }
}

TEST_CASE("A tensor width that cannot split the heads is refused with its reason when the user fixes it") {
  PlanRequest request = request_for({.model = "llama-3.1-8b", .gpus = 6});
  fix(request, degrees(3), {"tp"});
  const PlanResult result = search_plans(request);
  CHECK(result.plans.empty());
  REQUIRE(!result.rejected.empty());
  CHECK(result.rejected.front().rule == "q_heads_divisible");
}

TEST_CASE("A plan's serving numbers are those of estimate for the same deployment") {
  PlanRequest request = request_for({.model = "qwen3-30b-a3b", .gpus = 8, .engine = "vllm", .concurrency = 64});
  const PlanResult result = search_plans(request);
  REQUIRE(!result.plans.empty());
  const Plan& plan = result.plans.front();
  request.max_batched_tokens = plan.max_batched_tokens;
  const EstimateResult estimate = estimate_config(request, plan.config, {});
  CHECK(estimate.violations.empty());
  CHECK(estimate.plan.serving.tpot.value() == Approx(plan.serving.tpot.value()));
  CHECK(estimate.plan.serving.ttft.value() == Approx(plan.serving.ttft.value()));
}

}  // namespace
}  // namespace shardplan
