// What the simulator is handed by the planner, and what is asked of it: transfers, capacity, benchmarks, verified
// plans.
#include <algorithm>
#include <cmath>

#include "planner/benchmark_protocol.h"
#include "planner/capacity.h"
#include "planner/verify.h"
#include "tests/base/message_of.h"
#include "tests/catch.h"
#include "tests/planner/requests.h"

namespace shardplan {
namespace {

TransferSettings transfer_of(const char* model, std::int64_t tp) {
  const PlanRequest request = request_for({.model = model});
  const ParallelConfig config = request.model.is_moe() ? moe_degrees(tp, 1, true) : degrees(tp);
  const SimulatedPool prefill(request, config, {}, {});
  const SimulatedPool decode(request, config, {}, {});
  return cache_transfer(request, {prefill.config(), prefill.ledger()}, {decode.config(), decode.ledger()});
}

// Llama-3.1-8B in bf16: 2 * 32 layers * 8 heads * 128 * 2 bytes = 131,072 bytes per token whatever the width up to 8.
// DeepSeek-V3: 61 * (512+64) * 2 = 70,272 bytes, and every rank of a group holds it.
TEST_CASE("The cache of a prompt moves once, with the copies that the receiver holds") {
  CHECK(transfer_of("llama-3.1-8b", 1).bytes_per_token_ratio == Approx(131'072));
  CHECK(transfer_of("llama-3.1-8b", 4).bytes_per_token_ratio == Approx(131'072));
  CHECK(transfer_of("deepseek-v3", 8).bytes_per_token_ratio == Approx(8 * 70'272));
}

TEST_CASE("Pools inside one fast domain use it, others their share of the NICs") {
  CHECK(transfer_of("llama-3.1-8b", 4).sender.value() == Approx(4 * 450e9));  // 8 GPUs of one host
  CHECK(transfer_of("deepseek-v3", 8).sender.value() == Approx(8 * 50e9));
}

TEST_CASE("Capacity is the rate at which enough requests still meet the targets") {
  PlanRequest request = request_for(
      {.model = "llama-3.1-8b", .hardware = "h100-sxm", .isl = 2048, .osl = 128, .tpot_ms = 25, .ttft_ms = 500});
  const SimulatedTraffic traffic{.requests = 300};
  const Capacity capacity = find_capacity(request, degrees(1), nullptr, traffic, {}, 0.9);
  REQUIRE(capacity.requests_per_second > 1);
  const auto attained = [&](double rate) {
    request.workload.requests_per_second = rate;
    const SimulationResult r = simulate_config(request, degrees(1), traffic, {});
    return static_cast<double>(r.good_requests) / static_cast<double>(r.requests.arrived);
  };
  CHECK(attained(capacity.requests_per_second) >= 0.9);
  CHECK(attained(1.2 * capacity.requests_per_second) < 0.9);
  PlanRequest hopeless = request;
  hopeless.targets.ttft = Seconds(1e-3);
  CHECK(find_capacity(hopeless, degrees(1), nullptr, traffic, {}, 0.9).requests_per_second == 0);
}

// Published check of the batching wait: TTFT(1k/1k) - TTFT(1k/8k) of Llama FP8 at 4 users is 19.1, 19.0 and 20.3 times
// TPOT.
TEST_CASE("A batching wait of 20 steps costs nearly 20 steps where users are few") {
  PlanRequest request =
      request_for({.model = "llama-3.1-70b", .hardware = "b200-sxm", .isl = 1024, .osl = 1024, .concurrency = 4});
  request.engine_times_as = "trtllm";
  request.max_batched_tokens = 16'384;
  BenchmarkProtocol protocol = inferencex_protocol(request, degrees(4));
  CHECK(protocol.scheduling.hold_steps == 20);
  const BenchmarkPrediction waits = simulate_benchmark(request, degrees(4), protocol);
  protocol.scheduling.hold_steps = 0;
  const BenchmarkPrediction at_once = simulate_benchmark(request, degrees(4), protocol);
  const double steps = (waits.ttft - at_once.ttft).value() / waits.tpot.value();
  CHECK(steps > 14);  // the opening burst and prompts that find nobody decoding do not wait
  CHECK(steps < 20.5);
  CHECK(inferencex_protocol(request, degrees(8)).scheduling.hold_steps == 0);
}

// Means lie above medians (about 35 % in the published logs), and equal lengths move in lock-step: TTFT more than
// doubles.
TEST_CASE("A benchmark's burst and its spread of lengths decide its time to the first token") {
  const PlanRequest request = request_for({.model = "llama-3.1-70b",
                                           .hardware = "h200-sxm",
                                           .engine = "vllm",
                                           .isl = 1024,
                                           .osl = 1024,
                                           .concurrency = 64});
  BenchmarkProtocol protocol = inferencex_protocol(request, degrees(8));
  const BenchmarkPrediction spread = simulate_benchmark(request, degrees(8), protocol);
  CHECK(spread.ttft_median < spread.ttft * 0.9);
  protocol.length_ratio = 1;
  const BenchmarkPrediction equal = simulate_benchmark(request, degrees(8), protocol);
  CHECK(equal.ttft > spread.ttft * 1.5);
  protocol = inferencex_protocol(request, degrees(8));
  protocol.requests_per_user = 3;
  CHECK(simulate_benchmark(request, degrees(8), protocol).ttft > spread.ttft);
}

TEST_CASE("Verified plans are the best ones, simulated and ranked anew, the same every time") {
  PlanRequest request = request_for(
      {.model = "llama-3.1-8b", .hardware = "h100-sxm", .gpus = 4, .engine = "vllm", .concurrency = 64, .tpot_ms = 30});
  PlanResult result = search_plans(request);
  REQUIRE(result.plans.size() >= 4);
  std::vector<Plan> again = result.plans;
  verify_plans(request, 3, result.plans);
  verify_plans(request, 3, again);
  std::vector<std::int64_t> before;
  for (std::size_t i = 0; i < 3; ++i) {
    REQUIRE(result.plans[i].simulated);
    before.push_back(result.plans[i].simulated->rank_before);
    CHECK(result.plans[i].simulated->ttft == again[i].simulated->ttft);
    CHECK(result.plans[i].simulated->tpot.value() == Approx(result.plans[i].serving.tpot.value()).epsilon(0.3));
  }
  CHECK_FALSE(result.plans[3].simulated);
  std::sort(before.begin(), before.end());
  CHECK(before == std::vector<std::int64_t>{1, 2, 3});
  for (std::size_t i = 1; i < 3; ++i) {
    const SimulatedServing& a = *result.plans[i - 1].simulated;
    const SimulatedServing& b = *result.plans[i].simulated;
    CHECK(
        (a.meets_targets > b.meets_targets || (a.meets_targets == b.meets_targets && a.score >= b.score * (1 - 1e-6))));
  }
}

TEST_CASE("A request that the configuration cannot hold does not keep the others out") {
  PlanRequest request =
      request_for({.model = "llama-3.1-8b", .hardware = "h100-sxm", .engine = "vllm", .isl = 100'000'000, .osl = 10});
  const PlanRequest sized = sized_request(request, degrees(1));
  CHECK(sized.max_model_len == request.model.max_positions);
  request.engine = nullptr;
  const std::int64_t held = sized_request(request, degrees(1)).max_model_len;
  CHECK(held > 100'000);
  CHECK(held < 1'000'000);
  CHECK(SimulatedPool(sized_request(request, degrees(1)), degrees(1), {}, {}).ledger().fits);
}

TEST_CASE("A budget from a time between tokens keeps steps that short") {
  PlanRequest request =
      request_for({.model = "llama-3.1-8b", .hardware = "h100-sxm", .isl = 4096, .osl = 256, .concurrency = 32});
  SimulationSettings settings;
  settings.scheduling.tbt = Seconds(0.03);
  const SimulationResult r = simulate_config(request, degrees(1), {.requests = 200, .length_ratio = 0.8}, settings);
  const SimulationResult free = simulate_config(request, degrees(1), {.requests = 200, .length_ratio = 0.8}, {});
  CHECK(r.itl.p99 <= Seconds(0.031));
  CHECK(free.itl.p99 > Seconds(0.06));
  settings.scheduling.tbt = Seconds(1e-4);
  CHECK_THAT(message_of([&] { (void)simulate_config(request, degrees(1), {.requests = 10}, settings); }),
             contains_text("--tbt-ms"));
}

}  // namespace
}  // namespace shardplan
