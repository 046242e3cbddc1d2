// A serving benchmark's own protocol, simulated: what a published TTFT and TPOT are means of.
//
// Closed loop of C users, all starting at 0 (the burst stays in the averages), `requests_per_user` x C requests in all,
// prompt and output lengths independent and uniform whole numbers from `length_ratio` of the nominal ones. A request passes
// the server path and the tokeniser before the engine sees it; a step is planned while the one before it runs. Means over
// requests are reported: their median is a third lower for TTFT. Sources: InferenceX sweep workflows and its client
// (request rate infinite, random-range-ratio 0.8, 10 prompts per user).
// Wrong: the client's own limits are not modelled, and warm-up requests leave nothing behind.
#pragma once

#include "planner/simulate.h"

namespace shardplan {

struct BenchmarkProtocol {
  std::int64_t requests_per_user = 10;
  double length_ratio = 0.8;
  SchedulingChoice scheduling;             // what the recipe sets: batching wait, chunking, ...
  std::uint64_t seed = 0;
};

// The batching wait that the published TensorRT-LLM recipes of dense models set: prompts wait for 0.9 of the token budget
// or 20 steps, where input and output are both short (1k/1k) and the instance has fewer than 8 GPUs.
[[nodiscard]] BenchmarkProtocol inferencex_protocol(const PlanRequest& request, const ParallelConfig& config);

struct BenchmarkPrediction {
  bool simulated = false;                  // false: illegal, or no request fits
  Seconds ttft;                            // means over requests
  Seconds tpot;
  Seconds ttft_median;
  double output_tokens_per_second = 0;     // by Little's law, C*osl/(ttft + (osl-1)*tpot), as the tables derive it
  double kv_demand_ratio = 0;              // mean tokens that C requests hold over what the cache holds
  std::int64_t preempted = 0;
};

// Precondition: the workload has a concurrency; isl and osl are the nominal ones. Cost: about 2 ms per point.
[[nodiscard]] BenchmarkPrediction simulate_benchmark(const PlanRequest& request, const ParallelConfig& config, const BenchmarkProtocol& protocol);

// The same of a prefill and a decode pool; kv_demand_ratio is the decode pool's.
[[nodiscard]] BenchmarkPrediction simulate_benchmark_pools(const PlanRequest& request, const PoolConfigs& pools, const BenchmarkProtocol& protocol);

}  // namespace shardplan
