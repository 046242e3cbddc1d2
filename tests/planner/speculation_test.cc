// Speculation from the question to the launch file: what it gains, where it is refused, what comes back.
#include "planner/cluster.h"
#include "planner/deployment.h"
#include "planner/simulate.h"
#include "tests/catch.h"
#include "tests/planner/requests.h"

namespace shardplan {
namespace {

ParallelConfig drafting(std::int64_t drafts, ParallelConfig config) {
  config.variant.speculative_tokens = drafts;
  return config;
}

EstimateResult estimate(const PlanRequest& request, const ParallelConfig& config) {
  return estimate_config(request, config, {});
}

TEST_CASE("Drafting helps a few requests and stops paying in large batches") {
  double ratio_before = 0;
  for (const std::int64_t users : {1, 16, 256, 2048}) {
    PlanRequest request = request_for({.model = "deepseek-v3", .isl = 1024, .osl = 1024, .concurrency = users});
    const EstimateResult result = estimate(request, drafting(3, moe_degrees(1, 8, true)));
    REQUIRE(result.violations.empty());
    REQUIRE(result.plan.serving.speculation);
    const SpeculationGain& gain = *result.plan.serving.speculation;
    INFO(users << " users: " << gain.step_ratio << " plain steps, TPOT " << result.plan.serving.tpot.value()
               << " against " << gain.plain_tpot.value());
    CHECK(gain.tokens_per_step == Approx(1 + 0.8 + 0.64 + 0.512));
    CHECK(gain.step_ratio > ratio_before * 0.98);  // each token costs more where steps are full
    ratio_before = gain.step_ratio;
    if (users == 1) CHECK(result.plan.serving.tpot.value() < 0.6 * gain.plain_tpot.value());
  }
  CHECK(ratio_before > 2);  // most of what is drafted must be accepted
}

TEST_CASE("With nothing accepted a token takes the whole step; with everything accepted a quarter of it") {
  PlanRequest request = request_for({.model = "deepseek-v3", .concurrency = 8});
  const ParallelConfig config = drafting(3, moe_degrees(8, 1, true));
  request.workload.acceptance_ratio = 0;
  const ServingEstimate none = estimate(request, config).plan.serving;
  request.workload.acceptance_ratio = 1;
  const ServingEstimate all = estimate(request, config).plan.serving;
  CHECK(none.tpot > none.speculation->plain_tpot);
  CHECK(none.decode_step.value() == Approx(all.decode_step.value()));
  CHECK(all.tpot.value() < 0.3 * none.tpot.value());
  CHECK(all.output_tokens_per_second > 2.5 * none.output_tokens_per_second);
}

TEST_CASE("A model without MTP modules is refused, and told what would do") {
  const EstimateResult result =
      estimate(request_for({.model = "qwen3-235b-a22b"}), drafting(2, moe_degrees(8, 1, false)));
  REQUIRE(result.violations.size() == 1);
  CHECK(result.violations[0].rule == "mtp_modules");
  CHECK_THAT(result.violations[0].message, Catch::Matchers::Contains("has no MTP module"));
  CHECK(estimate(request_for({.model = "deepseek-v3"}), drafting(17, moe_degrees(8, 1, false))).violations[0].rule ==
        "speculative_tokens");
}

TEST_CASE("Seats and slots make room for drafted tokens") {
  PlanRequest request = request_for({.model = "deepseek-v3", .engine = "vllm"});
  request.max_batched_tokens = 1024;
  request.max_num_sequences = 1024;
  CHECK(estimate(request, moe_degrees(1, 8, true)).plan.max_num_sequences == 1024);
  CHECK(estimate(request, drafting(3, moe_degrees(1, 8, true))).plan.max_num_sequences == 256);
}

std::vector<std::string> rules_broken(const char* engine, const ParallelConfig& config) {
  PlanRequest request = request_for({.model = "deepseek-v3", .gpus = 16, .engine = engine});
  std::vector<std::string> rules;
  for (const Violation& v : violations_of(request, request.engine->settled(request.model, config)))
    rules.push_back(v.rule);
  return rules;
}

TEST_CASE("Engines refuse drafts beside what they do not combine them with") {
  ParallelConfig piped = drafting(1, moe_degrees(8, 1, false));
  piped.pp = 2;
  CHECK_THAT(rules_broken("vllm", piped), Catch::Matchers::VectorContains(std::string("vllm_mtp_pipeline")));
  CHECK_THAT(rules_broken("sglang", piped), Catch::Matchers::VectorContains(std::string("sglang_mtp_pipeline")));
  ParallelConfig spread = drafting(1, moe_degrees(8, 1, false));
  spread.dcp = 2;
  CHECK_THAT(rules_broken("vllm", spread), Catch::Matchers::VectorContains(std::string("vllm_mtp_dcp")));
  CHECK(rules_broken("vllm", drafting(3, moe_degrees(1, 8, true))).empty());
}

// One request alone: the simulator's steps are the pricer's, over the tokens that a step yields.
TEST_CASE("The simulator and the estimate take the same speculative steps") {
  for (const std::int64_t users : {1, 4}) {
    const PlanRequest request = request_for({.model = "deepseek-v3", .engine = "vllm", .concurrency = users});
    for (const std::int64_t drafts : {0, 1, 3}) {
      INFO(users << " users, " << drafts << " drafts");
      const ParallelConfig config = drafting(drafts, moe_degrees(8, 1, true));
      const ServingEstimate closed = estimate(request, config).plan.serving;
      const SimulationResult simulated = simulate_config(request, config, {.requests = 40 * users}, {});
      CHECK(simulated.tpot.mean.value() == Approx(closed.tpot.value()).epsilon(users == 1 ? 0.02 : 0.10));
      CHECK(simulated.output_tokens_per_second == Approx(closed.output_tokens_per_second).epsilon(0.10));
    }
  }
}

TEST_CASE("A search drafts in every plan that it keeps, and its bound hides no better one") {
  for (const double acceptance : {0.3, 1.0}) {
    PlanRequest request = request_for({.model = "mimo-7b", .gpus = 4, .concurrency = 16});
    request.workload.acceptance_ratio = acceptance;
    request.pareto = false;
    fix(request, drafting(2, {}), {"speculative_tokens"});
    const PlanResult result = search_plans(request);
    REQUIRE_FALSE(result.plans.empty());
    for (const Plan& plan : result.plans) {
      CHECK(plan.config.variant.speculative_tokens == 2);
      CHECK(plan.serving.speculation);
    }
    request.disabled_passes = {"bound", "latency_bound"};
    CHECK(search_plans(request).plans.front().config == result.plans.front().config);
  }
}

}  // namespace
}  // namespace shardplan
