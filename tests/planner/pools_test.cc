// Plans with prompts and answers on pools of their own: what a pair is, what it needs, and that a simulation agrees.
#include "planner/disaggregation/pools.h"

#include <algorithm>

#include "planner/cache_transfer.h"
#include "planner/disaggregation/pool_side.h"
#include "planner/simulate.h"
#include "planner/verify.h"
#include "tests/base/message_of.h"
#include "tests/catch.h"
#include "tests/planner/launch_cases.h"
#include "tests/planner/requests.h"

namespace shardplan {
namespace {

PlanRequest question(std::int64_t gpus) {
  PlanRequest request = request_for({.model = "llama-3.1-70b",
                                     .hardware = "h200-sxm",
                                     .gpus = gpus,
                                     .isl = 3000,
                                     .osl = 300,
                                     .tpot_ms = 20,
                                     .ttft_ms = 800});
  request.top = 5;
  return request;
}

TEST_CASE("A pair of pools serves one rate within the targets and the budget") {
  const PlanRequest request = question(16);
  const PoolsResult result = search_pools(request);
  REQUIRE(!result.plans.empty());
  CHECK(result.refused.empty());
  for (const PoolsPlan& plan : result.plans) {
    INFO(short_text(plan.prefill.plan.config) << " + " << short_text(plan.decode.plan.config));
    CHECK(plan.gpus() <= 16);
    CHECK(plan.prefill.plan.ledger.fits);
    CHECK(plan.decode.plan.ledger.fits);
    CHECK(plan.serving.ttft <= *request.targets.ttft);
    CHECK(plan.serving.tpot <= *request.targets.tpot);
    for (const PoolShare* share : {&plan.prefill, &plan.decode}) {
      CHECK(share->busy_ratio <= 1);
      CHECK(share->plan.serving.requests_per_second == Approx(plan.serving.requests_per_second).epsilon(0.01));
      CHECK(share->busy_ratio * share->most_requests_per_second == Approx(plan.serving.requests_per_second));
    }
    // The decode pool streams the first token, once the cache has come and there is a place.
    const ServingEstimate& d = plan.decode.plan.serving;
    CHECK(plan.serving.ttft.value() == Approx((plan.prefill.plan.serving.ttft + plan.transfer + d.ttft_queue).value()));
    CHECK(plan.serving.tpot.value() == Approx((d.tpot + d.ttft_prefill / 299.0).value()));
    CHECK(plan.serving.concurrency == Approx(plan.serving.requests_per_second * plan.serving.e2e.value()));
  }
  for (std::size_t i = 1; i < result.plans.size(); ++i)
    CHECK(result.plans[i].score <= result.plans[i - 1].score * 1.00001);
}

TEST_CASE("The cache of a prompt takes its bytes over the slower end's links") {
  // 80 layers, 8 KV heads of 128, K and V in bf16: 327,680 B a token.
  const PoolsResult result = search_pools(question(16));
  REQUIRE(!result.plans.empty());
  const PoolsPlan& plan = result.plans.front();
  CHECK(plan.transfer_bytes >= 3000 * 327'680.0 * (1 - 1e-9));
  const TransferSettings link = cache_transfer(question(16), {plan.prefill.plan.config, plan.prefill.plan.ledger},
                                               {plan.decode.plan.config, plan.decode.plan.ledger});
  CHECK(plan.transfer.value() ==
        Approx(link.start_up.value() + plan.transfer_bytes / std::min(link.sender, link.receiver).value()));
}

TEST_CASE("More GPUs serve no less, and a rate takes the fewest that reach it") {
  double before = 0;
  for (const std::int64_t gpus : {4, 8, 16, 24}) {
    const PoolsResult result = search_pools(question(gpus));
    const double rate = result.plans.empty() ? 0 : result.plans.front().serving.requests_per_second;
    CHECK(rate >= before * 0.999);
    before = rate;
  }
  PlanRequest request = question(24);
  request.objective = Objective::kGpus;
  request.workload.requests_per_second = before / 4;
  const PoolsResult few = search_pools(request);
  REQUIRE(!few.plans.empty());
  CHECK(few.plans.front().gpus() <= 12);   // half of them do no less than two fifths of what all do
  CHECK(few.plans.front().serving.requests_per_second >= before / 4 * 0.998);
}

TEST_CASE("A concurrency is what pools hold at once") {
  PlanRequest request = question(8);
  request.workload.concurrency = 12;
  const PoolsResult result = search_pools(request);
  REQUIRE(!result.plans.empty());
  CHECK(result.plans.front().serving.concurrency == Approx(12).epsilon(0.02));
}

TEST_CASE("Where a pool can do nothing the reason is told") {
  PlanRequest request = question(8);
  request.targets.ttft = Seconds(1e-3);
  CHECK_THAT(search_pools(request).refused, contains_text("within the TTFT target"));
  request = question(8);
  request.targets.tpot = Seconds(1e-3);
  CHECK_THAT(search_pools(request).refused, contains_text("within the TPOT target"));
  request = question(1);
  CHECK_THAT(search_pools(request).refused, contains_text("two pools need at least 2 GPUs"));
  request = question(8);
  request.fixed_names = {"replicas"};
  CHECK_THAT(message_of([&] { (void)search_pools(request); }), contains_text("--replicas"));
}

TEST_CASE("Requests of one output token are prompts alone") {
  // At the largest load an instance computes one set after the other: no faster than its steps allow, and as simulated.
  PlanRequest request = request_for(
      {.model = "llama-3.1-70b", .hardware = "h200-sxm", .gpus = 4, .isl = 3000, .osl = 1, .concurrency = 32});
  const Plan plan = estimate_config(request, degrees(4), {}).plan;
  CHECK(plan.serving.requests_per_second * plan.serving.prefill_extra.value() <= 1 + 1e-9);
  CHECK(plan.serving.concurrency ==
        Approx(plan.serving.requests_per_second * (plan.serving.ttft - plan.serving.ttft_host).value()).epsilon(0.01));
  const SimulationResult r = simulate_config(request, degrees(4), {.requests = 400}, {});
  CHECK(plan.serving.requests_per_second == Approx(r.output_tokens_per_second).epsilon(0.05));
  CHECK(plan.serving.ttft.value() == Approx(r.ttft.p50.value()).epsilon(0.1));
}

TEST_CASE("Greedy steps of prompts leave stages without work, unless a prompt fills a step or many wait") {
  struct Case {
    std::int64_t stages, budget, users;
    double epsilon;  // of the rate against the simulated one
  };
  for (const Case& c : {Case{8, 2048, 64, 0.05}, Case{2, 2048, 8, 0.12}, Case{8, 8192, 8, 0.12}, Case{8, 8192, 16, 0.3},
                        Case{8, 8192, 24, 0.3}, Case{4, 8192, 10, 0.3}, Case{2, 8192, 6, 0.3}, Case{2, 8192, 24, 0.12},
                        Case{8, 8192, 64, 0.12}}) {
    CAPTURE(c.stages, c.budget, c.users);
    PlanRequest request = request_for({.model = "llama-3.1-70b", .isl = 3000, .osl = 1, .concurrency = c.users});
    request.max_batched_tokens = c.budget;
    const ParallelConfig config = degrees(8 / c.stages, c.stages);
    const Plan plan = estimate_config(request, config, {}).plan;
    const SimulationResult r = simulate_config(request, config, {.requests = 800, .length_ratio = 0.9}, {});
    const double simulated = 0.95 * r.output_tokens_per_second;  // its prompts are shorter on average
    CHECK(plan.serving.requests_per_second == Approx(simulated).epsilon(c.epsilon));
  }
}

TEST_CASE("Both pools' launch files name their side, and the checker of the engine takes them") {
  struct Sides {
    const char* engine;
    const char* prefill;
    const char* decode;
  };
  for (const Sides& sides : {Sides{"vllm", "--kv-transfer-config", "--kv-transfer-config"},
                             Sides{"sglang", "--disaggregation-mode prefill", "--disaggregation-mode decode"},
                             Sides{"trtllm", "disable_overlap_scheduler: true", "disable_overlap_scheduler: false"}}) {
    CAPTURE(sides.engine);
    PlanRequest request = question(8);
    request.engine = &require_engine(sides.engine);
    const PoolsResult result = search_pools(request);
    REQUIRE(!result.plans.empty());
    const auto check = [&](const PlanRequest& side, const PoolShare& share, const char* word) {
      const Launch launch = export_plan(side, share.plan);
      CHECK(launch.refused.empty());
      CHECK(faults_of(side, launch, side.role) == std::vector<std::string>{});
      const auto& files = launch.files;
      CHECK(std::any_of(files.begin(), files.end(),
                        [&](const LaunchFile& f) { return f.content.find(word) != std::string::npos; }));
    };
    check(prefill_request(request), result.plans.front().prefill, sides.prefill);
    check(decode_request(request), result.plans.front().decode, sides.decode);
  }
  PlanRequest rtp = question(8);
  rtp.engine = &require_engine("rtp-llm");
  const PoolsResult result = search_pools(rtp);
  REQUIRE(!result.plans.empty());
  CHECK(!export_plan(prefill_request(rtp), result.plans.front().prefill.plan).refused.empty());
}

TEST_CASE("A simulation of the best pair reaches what was promised") {
  const PlanRequest request = question(16);
  std::vector<PoolsPlan> plans = search_pools(request).plans;
  REQUIRE(!plans.empty());
  verify_pools(request, 1, plans);
  REQUIRE(plans.front().simulated);
  CHECK(plans.front().simulated->tpot.value() == Approx(plans.front().serving.tpot.value()).epsilon(0.15));
  CHECK(plans.front().simulated->ttft.value() == Approx(plans.front().serving.ttft.value()).epsilon(0.25));
  CHECK(plans.front().simulated->output_tokens_per_second ==
        Approx(plans.front().serving.output_tokens_per_second).epsilon(0.03));
  CHECK(plans.front().simulated->rejected == 0);
}

}  // namespace
}  // namespace shardplan
