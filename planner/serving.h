// Steady state of continuous batching with chunked prefill, from step prices alone.
//
// N requests run at once per instance (limited by the ledger, the engine's seats and the asked concurrency); the closed
// loop of planner/serving_loop.h turns the parts of a decode step and of a step with prompts into TTFT, TPOT and rate.
// Prompts are taken together as they come free: k = 1 + N/osl, at most what the token budget holds; a prompt longer than
// the budget takes several steps. Requests that do not fit wait (C-N)/lambda.
// With pipeline stages N/m sequences are in each of m = pp batches in flight: a step is max(m*max t_i, sum t_i + hops).
// Wrong where lengths vary widely: the simulator is for that.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/quantity.h"
#include "costmodel/ledger.h"
#include "costmodel/step_price.h"
#include "planner/engine.h"
#include "planner/engine_times.h"
#include "planner/serving_interval.h"
#include "planner/serving_loop.h"
#include "planner/workload.h"

namespace shardplan {

struct ServingInput {
  const StepPricer& pricer;
  const std::vector<StageLayers>& stages;
  const Ledger& ledger;
  const ParallelConfig& config;
  EngineTimes times;              // its factors are those of the pricer already
  SchedulerDefaults scheduler;    // chunk size: max_batched_tokens
  bool mixes = true;              // decode and prefill tokens share steps (pcp = 1)
};

// What drafting gains over the same requests in flight without it.
struct SpeculationGain {
  double tokens_per_step = 1;
  double step_ratio = 1;                        // of the times of a decode step, with over without
  Seconds plain_tpot;                           // without
  std::optional<double> break_even_acceptance;  // from which on it pays; nothing: never
};

struct ServingEstimate {
  bool feasible = true;            // false: the rate is more than the deployment can do, or nothing fits
  std::string reason;              // when not feasible
  double concurrency = 0;          // requests in the deployment, queued ones included
  double running = 0;              // requests running per instance
  std::string bound;               // what limits `running`: "concurrency", "kv cache", "seats", "rate"
  Seconds ttft;                    // sum of the three below
  Seconds ttft_prefill;            // its own chunks
  Seconds ttft_queue;              // for a free place or for other prompts
  Seconds ttft_host;
  Seconds tpot;
  Seconds decode_step;             // a step without prefill, host time included
  Seconds prefill_extra;           // what one prompt adds to the others' time
  double requests_per_second = 0;              // whole deployment
  double output_tokens_per_second = 0;
  double output_tokens_per_second_per_gpu = 0;
  double tokens_per_second_per_user = 0;       // 1/TPOT
  Seconds e2e;
  std::optional<SpeculationGain> speculation;  // of plans that are kept
  std::optional<ExpertDrops> decode_drops;     // of plans that are kept: of a capacity factor, in a steady decode step,
  std::optional<ExpertDrops> prefill_drops;    // and in a step of one prompt for each attention group
  LogSpread spread;                // of logarithms; all 0: no interval was asked for
};

// Parts of the two steps with `running` requests in an instance; parts carry the pricer's factors.
[[nodiscard]] LoopSteps loop_steps(const ServingInput& input, const Workload& workload, double running);
// How far each part of those steps may be off: of every kernel and collective what its row was off by on shapes that
// were held out (widened where the row is another machine's), by its share of the part. Rows err as a whole.
[[nodiscard]] StepParts part_deviation(const ServingInput& input, const Workload& workload, double running);
// Most requests that one instance runs at once, and what limits them.
struct RunningLimit {
  double requests = 0;
  const char* bound = "";
};
[[nodiscard]] RunningLimit running_limit(const ServingInput& input, const Workload& workload);
[[nodiscard]] LoopTraffic loop_traffic(const Workload& workload);

// How far an estimate may be off.
[[nodiscard]] LogSpread serving_spread(const ServingInput& input, const Workload& workload, const ServingEstimate& serving);

// Closed loop of `requests` over one instance (may be fractional in a search).
[[nodiscard]] ServingEstimate estimate_closed(const ServingInput& input, const Workload& workload, double requests);
// The workload's concurrency or rate over all replicas. Neither given: concurrency 1 per instance.
[[nodiscard]] ServingEstimate estimate_serving(const ServingInput& input, const Workload& workload);
// The largest number of requests per instance that meets the targets, 0 when even one does not.
[[nodiscard]] double best_concurrency(const ServingInput& input, const Workload& workload, const Targets& targets);

// Helix HOP-B: `parts` of attention time a and exchange time e each; off: parts*(a+e), on: parts*max(a,e) + min(a,e).
[[nodiscard]] Seconds overlapped_parts(std::int64_t parts, Seconds a, Seconds e);
// Pipeline cycle with m batches in flight: max(max t_i, (sum t_i + sum h_i)/m).
[[nodiscard]] Seconds pipeline_cycle(const std::vector<Seconds>& stages, Seconds hops, std::int64_t in_flight);

}  // namespace shardplan
