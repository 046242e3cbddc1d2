// Rules of thumb that must come out of the model, not be built into it.
#include "tests/catch.h"
#include "tests/planner/requests.h"

namespace shardplan {
namespace {

ParallelConfig winner_of(const PlanRequest& request) {
  PlanRequest quick = request;
  quick.pareto = false;
  const PlanResult result = search_plans(quick);
  REQUIRE(!result.plans.empty());
  INFO(short_text(result.plans.front().config));
  return result.plans.front().config;
}

TEST_CASE("A model that fits one GPU with many users is replicated") {
  const ParallelConfig best = winner_of(request_for({.model = "llama-3.1-8b", .gpus = 8, .engine = "vllm"}));
  CHECK(best.instance_gpus() == 1);
  CHECK(best.replicas == 8);
}

TEST_CASE("A model of one to two GPUs with a latency target takes TP 2 or 4 in replicas") {
  const ParallelConfig best =
      winner_of(request_for({.model = "llama-3.1-70b", .gpus = 8, .engine = "vllm", .tpot_ms = 40}));
  CHECK(best.tp >= 2);
  CHECK(best.tp <= 4);
  CHECK(best.pp == 1);
}

TEST_CASE("A model beyond a node takes TP in the node and PP across") {
  const ParallelConfig best = winner_of(request_for(
      {.model = "llama-3.1-405b", .hardware = "h100-sxm", .gpus = 16, .engine = "vllm", .concurrency = 256}));
  CHECK(best.tp == 8);
  CHECK(best.pp == 2);
}

TEST_CASE("A mixture of experts spreads its experts") {
  const ParallelConfig best = winner_of(
      request_for({.model = "qwen3-235b-a22b", .gpus = 8, .engine = "vllm", .isl = 1024, .osl = 1024, .tpot_ms = 40}));
  CHECK(best.ep == 8);
}

TEST_CASE("One user with a tight latency takes no pipeline stage") {
  PlanRequest request = request_for({.model = "llama-3.1-70b", .gpus = 8, .engine = "vllm", .concurrency = 1});
  request.objective = Objective::kInteractivity;
  const ParallelConfig best = winner_of(request);
  CHECK(best.pp == 1);
  CHECK(best.tp == 8);
}

TEST_CASE("Of deployments that are as fast for a user the one that serves more of them wins") {
  PlanRequest request = request_for({.model = "qwen3-235b-a22b", .gpus = 32});
  request.objective = Objective::kInteractivity;
  const ParallelConfig best = winner_of(request);
  CHECK(best.pcp == 1);
  CHECK(best.replicas == 4);
}

TEST_CASE("Tensor parallelism does not leave the node for one user of a model that fits it") {
  PlanRequest request = request_for({.model = "llama-3.1-70b", .gpus = 16, .engine = "vllm", .concurrency = 1});
  request.objective = Objective::kInteractivity;
  CHECK(winner_of(request).tp == 8);
}

TEST_CASE("At a width beyond the KV heads a very long context is split by positions") {
  // 4 KV heads at TP 8 hold every entry twice: dcp 2 halves that.
  PlanRequest request =
      request_for({.model = "qwen3-235b-a22b", .gpus = 8, .engine = "vllm", .isl = 120000, .osl = 2048, .tpot_ms = 60});
  fix(request, degrees(8), {"tp"});
  CHECK(winner_of(request).dcp == 2);
}

TEST_CASE("Throughput of MLA with ample load takes attention groups, not wider tensors") {
  const ParallelConfig best =
      winner_of(request_for({.model = "deepseek-v3", .gpus = 16, .engine = "vllm", .isl = 2048, .osl = 1024}));
  CHECK(best.dpa > 1);
  CHECK(best.tp <= 2);
}

TEST_CASE("Wider tensors gain more in prefill than in decode") {
  const auto speedup = [](bool prefill) {
    double seconds[2];
    for (const std::int64_t tp : {1, 8}) {
      const PlanRequest request = request_for({.model = "llama-3.1-8b", .gpus = 8});
      BareSteps bare;
      bare.given = true;
      if (prefill) {
        bare.prefill.prefill_sequences = 1;
        bare.prefill.prefill_tokens = 8192;
      } else {
        bare.decode.decode_sequences = 32;
        bare.decode.decode_context = 2048;
      }
      const EstimateResult result = estimate_config(request, degrees(tp), bare);
      seconds[tp == 1 ? 0 : 1] = (prefill ? result.prefill : result.decode).time.seconds.value();
    }
    return seconds[0] / seconds[1];
  };
  CHECK(speedup(true) > speedup(false));
}

}  // namespace
}  // namespace shardplan
