// Ten things that measured systems do and an analytic mean cannot show. Directions are exact; sizes are bands around
// the published figure, wide where the published set-up is only partly known (each says why).
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "models/model_spec.h"
#include "planner/simulate.h"
#include "tests/catch.h"
#include "tests/planner/requests.h"

namespace shardplan {
namespace {

struct Run {
  PlanRequest request;
  ParallelConfig config;
  SimulatedTraffic traffic;
  SimulationSettings settings;
  [[nodiscard]] SimulationResult operator()() const { return simulate_config(request, config, traffic, settings); }
};

// A closed loop as serving benchmarks run it.
Run benchmark(const Ask& ask, const char* weights, const ParallelConfig& config, double length_ratio = 0.8) {
  Run run{.request = request_for(ask), .config = config};
  if (*weights != '\0') override_weight_format(run.request.model, require_format(weights, "weights"));
  run.request.kv_format = &require_kv_format("fp8", "cache");
  run.traffic = {.requests = 10 * ask.concurrency, .length_ratio = length_ratio};
  return run;
}

// Published charts of Llama-3.3-70B FP8 1k/8k: rate times output time is 94 to 99 % of the nominal concurrency, because
// the time to the first token is left out. Here also the drain of a run of ten waves is in the rate: 80 % and more.
TEST_CASE("Phenomenon 1: Little's law holds in a closed loop") {
  for (const std::int64_t users : {4, 16, 64}) {
    INFO(users << " users");
    const SimulationResult r = benchmark({.model = "llama-3.1-70b",
                                          .hardware = "b200-sxm",
                                          .engine = "vllm",
                                          .isl = 1024,
                                          .osl = 8192,
                                          .concurrency = users},
                                         "fp8", degrees(4))();
    const double mean_output = static_cast<double>(r.output_tokens) / static_cast<double>(r.requests.completed);
    const double requests_per_second = r.output_tokens_per_second / mean_output;
    CHECK(requests_per_second * r.e2e.mean.value() == Approx(r.mean_requests).epsilon(1e-9));
    const double implied = requests_per_second * r.tpot.mean.value() * mean_output;
    CHECK(implied < static_cast<double>(users));
    CHECK(implied > 0.80 * static_cast<double>(users));
  }
}

// H100 TP2, 1k/8k: from 32 users to 64 the first token goes from 0.29 s to 30.8 s (107 times), the time per token only
// from 27.7 to 41.7 ms (1.5 times): 50 fit and the others queue. Where the cache ends is the ledger's answer, so users
// are counted in what it holds: 64 % and 128 % of it.
TEST_CASE("Phenomenon 2: beyond the cache requests queue, tokens do not slow down as much") {
  Run run = benchmark(
      {.model = "llama-3.1-70b", .hardware = "h100-sxm", .engine = "vllm", .isl = 1024, .osl = 8192, .concurrency = 32},
      "fp8", degrees(2));
  const SimulatedPool pool(run.request, run.config, {}, {});
  const std::int64_t room = pool.ledger().kv_capacity_tokens / (922 + 3686);
  const auto with = [&run](std::int64_t users) {
    run.request.workload.concurrency = users;
    run.traffic.requests = 10 * users;
    return run();
  };
  const SimulationResult fits = with(room * 64 / 100);
  const SimulationResult full = with(room * 128 / 100);
  CHECK(fits.requests.preempted * 20 < fits.requests.completed);
  CHECK(full.ttft.mean > fits.ttft.mean * 30);
  CHECK(full.tpot.mean > fits.tpot.mean * 1.2);
  CHECK(full.tpot.mean < fits.tpot.mean * 2);
  CHECK(full.output_tokens_per_second > fits.output_tokens_per_second);
}

// Agents on 24 H200: throughput peaks at 3 at once (19.6k tokens/s) and is down to 11.1k at 8, the first token from 3.8
// to 121 s: conversations throw one another's prefixes out. Here 8 turns over one GPU's cache.
TEST_CASE("Phenomenon 3: conversations that do not fit the cache together collapse") {
  const auto with = [](std::int64_t conversations) {
    Run run{.request = request_for({.model = "llama-3.1-8b",
                                    .hardware = "h100-sxm",
                                    .engine = "vllm",
                                    .isl = 60'000,
                                    .osl = 200,
                                    .concurrency = conversations}),
            .config = degrees(1)};
    run.traffic = {.requests = 16 * conversations,
                   .nominal = {.prompt_tokens = 6000, .output_tokens = 200},
                   .turns = 8,
                   .pause = Seconds(2)};
    return run();
  };
  const auto with_store = [&](std::int64_t conversations) {
    Run run{.request = request_for({.model = "llama-3.1-8b",
                                    .hardware = "h100-sxm",
                                    .engine = "vllm",
                                    .isl = 60'000,
                                    .osl = 200,
                                    .concurrency = conversations}),
            .config = degrees(1)};
    run.traffic = {.requests = 16 * conversations,
                   .nominal = {.prompt_tokens = 6000, .output_tokens = 200},
                   .turns = 8,
                   .pause = Seconds(2)};
    run.settings.tiers.remote = Bytes(1'000'000'000'000);
    return run();
  };
  const SimulationResult few = with(4);
  const SimulationResult good = with(8);
  const SimulationResult many = with(24);
  const auto input_rate = [](const SimulationResult& r) { return r.input_tokens_per_second; };
  CHECK(input_rate(good) > input_rate(few) * 1.3);
  CHECK(input_rate(many) < input_rate(good) * 0.8);
  CHECK(many.ttft.mean > good.ttft.mean * 5);
  const auto hits = [](const SimulationResult& r) {
    return static_cast<double>(r.cached_tokens) / static_cast<double>(r.input_tokens);
  };
  CHECK(hits(good) > 0.6);
  CHECK(hits(many) < hits(good) - 0.3);
  // A store behind vLLM on 12 GB200: hits from 1.7 to 92.2 %, 3.8 times the throughput, the median first token 46 times
  // sooner. Here the device's own cache still hits now and then, so that there is less to win.
  const SimulationResult stored = with_store(24);
  CHECK(hits(stored) > hits(many) + 0.3);
  CHECK(input_rate(stored) > input_rate(many) * 1.5);
  CHECK(stored.ttft.p50 < many.ttft.p50);
}

// Sarathi-Serve: 2.6 times the rate of vLLM's prompts-first scheduler on one A100 with a 7B model, at a P99 bound of
// the time between tokens. The bound and the data set are known by name only: 1.5 and more.
TEST_CASE("Phenomenon 4: chunked prompts raise the rate that keeps tokens coming in time") {
  const auto capacity = [](const char* scheduler, std::int64_t budget) {
    double low = 0.1;
    double high = 32;
    while (high / low > 1.05) {
      const double rate = std::sqrt(low * high);
      Run run{.request = request_for({.model = "llama-3.1-8b", .hardware = "a100-sxm-80gb", .isl = 2048, .osl = 256}),
              .config = degrees(1)};
      run.request.workload.requests_per_second = rate;
      run.request.max_batched_tokens = budget;
      run.traffic = {.requests = 400, .nominal = {.prompt_tokens = 2048, .output_tokens = 256}, .length_cv_ratio = 0.5};
      run.settings.scheduling.scheduler = scheduler;
      (run().itl.p99 <= Seconds(0.1) ? low : high) = rate;
    }
    return low;
  };
  const double chunked = capacity("sarathi", 512);
  CHECK(chunked > 1.5 * capacity("sglang", 8192));
  CHECK(chunked > 1.5 * capacity("orca", 8192));
}

// Qwen3.5 on GB200, decode instances fixed: total tokens/s/GPU over the number of prefill instances peaks inside (21.9k
// at 4, 25.75k at 6, 23.55k at 8); at few users fewer is always better. Another model and other widths here: the shape
// counts.
TEST_CASE("Phenomenon 5: the ratio of prefill to decode instances has an optimum inside, and few users want few") {
  const auto per_gpu = [](std::int64_t prefill, std::int64_t users) {
    Run run{.request = request_for(
                {.model = "llama-3.1-70b", .hardware = "gb200-nvl72", .isl = 8192, .osl = 1024, .concurrency = users})};
    override_weight_format(run.request.model, require_format("fp8", "weights"));
    run.traffic = {.requests = 5 * users, .length_ratio = 0.8};
    PoolConfigs pools{.prefill = degrees(2), .decode = degrees(4)};
    pools.prefill.replicas = prefill;
    const SimulationResult r = simulate_pools(run.request, pools, run.traffic, {});
    return (r.input_tokens_per_second + r.output_tokens_per_second) /
           static_cast<double>(pools.prefill.gpus() + pools.decode.gpus());
  };
  std::vector<double> many, few;
  for (const std::int64_t prefill : {1, 2, 4, 8, 16}) {
    many.push_back(per_gpu(prefill, 256));
    few.push_back(per_gpu(prefill, 4));
  }
  const auto best = std::max_element(many.begin(), many.end()) - many.begin();
  CHECK(best > 0);
  CHECK(best < 4);
  CHECK(std::is_sorted(few.rbegin(), few.rend()));
}

// DeepSeek-R1 on 8 B200 with attention data parallelism: prompts that wait until every group has one raise the balance
// of the groups from 54 to 88 % and throughput by 31 to 33 %, at the price of the time to the first token. The
// published run drew lengths from a wider distribution than is stated: some gain, and the price.
TEST_CASE("Phenomenon 6: attention groups in lock-step lose to imbalance, and waiting for balance wins some back") {
  const auto with = [](std::int64_t balance) {
    Run run{.request = request_for(
                {.model = "deepseek-r1", .hardware = "b200-sxm", .isl = 2048, .osl = 256, .concurrency = 512}),
            .config = moe_degrees(1, 8, true)};
    override_weight_format(run.request.model, require_format("nvfp4", "weights"));
    run.traffic = {.requests = 2048, .nominal = {.prompt_tokens = 2048, .output_tokens = 256}, .length_cv_ratio = 0.5};
    run.settings.scheduling.balance_steps = balance;
    run.settings.routing.router = "least_tokens";
    return run();
  };
  const SimulationResult at_once = with(0);
  const SimulationResult balanced = with(50);
  const double gain = balanced.output_tokens_per_second / at_once.output_tokens_per_second;

  CHECK(balanced.ttft.mean > at_once.ttft.mean);
  CHECK(gain > 1.15);
  CHECK(gain < 1.8);
}

// Large-scale EP of DeepSeek-V3 on H100: EPLB gains 1.49 times in prefill at EP32 and 2.54 times in decode at EP72, and
// more with wider EP. The popularity there is not published: the law that prices rest on by default answers within a
// third, and a milder one gains less.
TEST_CASE("Phenomenon 7: uneven experts cost more the wider they are spread, and spare experts win it back") {
  const auto prefill_rate = [](const char* popularity, std::int64_t ranks, bool balanced) {
    Run run{.request = request_for(
                {.model = "deepseek-v3", .hardware = "h100-sxm", .isl = 4096, .osl = 1, .concurrency = 2 * ranks}),
            .config = moe_degrees(1, ranks, true)};
    run.config.variant.moe_comm = MoeComm::kAllToAll;
    if (balanced) run.config.variant.redundant_experts = 32;
    run.request.price.expert_load = parse_expert_load(popularity);
    run.traffic = {.requests = 8 * ranks};
    return run().input_tokens_per_second / static_cast<double>(ranks);
  };
  const auto gain = [&](const char* popularity, std::int64_t ranks) {
    return prefill_rate(popularity, ranks, true) / prefill_rate(popularity, ranks, false);
  };
  const double uneven = gain("zipf:0.8", 32);
  CHECK(uneven == Approx(1.49).epsilon(0.33));
  CHECK(uneven > gain("zipf:0.8", 16) + 0.1);
  const double mild = gain("zipf:0.5", 32);
  CHECK(mild > 1.1);
  CHECK(mild < uneven);
}

// Two-batch overlap of DeepSeek-V3: -27 % in decode at 32 tokens per GPU, even at 64 to 128, +25 % at 256; prefill +27
// to 35 %.
TEST_CASE("Phenomenon 8: two-batch overlap pays from a threshold of tokens on") {
  const auto gain = [](std::int64_t per_gpu) {
    double rate[2];
    for (const bool overlap : {false, true}) {
      Run run{.request = request_for(
                  {.model = "deepseek-v3", .hardware = "h100-sxm", .isl = 64, .osl = 256, .concurrency = 32 * per_gpu}),
              .config = moe_degrees(1, 32, true)};
      run.config.variant.moe_comm = MoeComm::kAllToAll;
      if (overlap) run.config.variant.overlap = Overlap::kTwoBatch;
      run.traffic = {.requests = 64 * per_gpu};
      rate[overlap ? 1 : 0] = run().output_tokens_per_second;
    }
    return rate[1] / rate[0];
  };
  CHECK(gain(8) < 1);
  CHECK(gain(512) > 1.05);
}

// DeepSeek-R1 with MTP of 3 tokens: 2.28 times at batch 1, +60 % at 2 per rank, +14 % at 128 per rank, accepted
// length 2.6 to 2.8.
TEST_CASE("Phenomenon 9: the gain of speculation shrinks with the batch") {
  const auto gain = [](std::int64_t users) {
    double rate[2];
    for (const bool drafts : {false, true}) {
      Run run =
          benchmark({.model = "deepseek-r1", .hardware = "b200-sxm", .isl = 1024, .osl = 1024, .concurrency = users},
                    "nvfp4", moe_degrees(1, 8, true));
      run.traffic.requests = 3 * users;
      if (drafts) run.config.variant.speculative_tokens = 3;
      run.request.workload.acceptance_ratio = 0.78;
      rate[drafts ? 1 : 0] = run().output_tokens_per_second;
    }
    return rate[1] / rate[0];
  };
  const double one = gain(1);
  const double some = gain(16);
  const double many = gain(1024);
  CHECK(one > 1.7);
  CHECK(one < 2.7);
  CHECK(some < one + 0.1);
  CHECK(many < 1.5);
  CHECK(many > 1);
}

// A prompt of 128k over four stages: 15.2 s whole, 8.6 s in chunks of 32k; chunks follow one another through the
// stages.
TEST_CASE("Phenomenon 10: chunks fill the pipeline under one long prompt") {
  const auto ttft = [](std::int64_t chunk) {
    Run run{.request = request_for(
                {.model = "deepseek-v3", .hardware = "gb200-nvl72", .isl = 131'072, .osl = 2, .concurrency = 1}),
            .config = degrees(4, 4)};
    run.config.moe_tp = 4;
    override_weight_format(run.request.model, require_format("nvfp4", "weights"));
    run.request.max_batched_tokens = chunk;
    run.traffic = {.requests = 3};
    return run().ttft.mean.value();
  };
  const double whole = ttft(131'072 + 8);
  const double chunked = ttft(32'768);
  CHECK(chunked < 0.75 * whole);
  CHECK(chunked > 0.35 * whole);
}

}  // namespace
}  // namespace shardplan
