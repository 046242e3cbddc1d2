// Prompts and answers on pools of their own: a layout for each, how many instances of each, and what they serve.
//
//   rate     = what both pools sustain: instances * requests/s of one, prompts within the TTFT target, answers within
//              the TPOT target
//   TTFT     = the prefill pool's, its queue and host path included, + hand-over, transfer and wait for a place: the decode
//              pool streams the answer, the first token with it
//   TPOT     = the decode pool's + first step / (osl - 1)
//   transfer = cache of a prompt / the slower of the sender's and the receiver's links + the engine's hand-over (cache_transfer.h)
//
// Each side is searched as any deployment is: prompts as requests of one output token, answers as requests all of whose
// prompt but one token is cached, for every size of an instance. Then every pair is matched over the numbers of
// instances that the budget holds. Wrong: transfers that meet on a link wait for one another (simulate_pools knows),
// and engines that move the cache layer by layer hide most of it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "planner/plan.h"

namespace shardplan {

struct PoolShare {
  Plan plan;                            // replicas: its instances; serving: its own part at the matched rate
  double most_requests_per_second = 0;  // that all its instances sustain, whatever the targets
  double busy_ratio = 0;                // matched rate over that
};

struct PoolsPlan {
  PoolShare prefill;
  PoolShare decode;
  double transfer_bytes = 0;  // of one request's cache
  Seconds transfer;
  ServingEstimate serving;  // of both together
  double score = 0;         // as the objective has it
  std::optional<SimulatedServing> simulated;
  [[nodiscard]] std::int64_t gpus() const { return prefill.plan.config.gpus() + decode.plan.config.gpus(); }
  [[nodiscard]] const char* limited_by() const {
    return prefill.busy_ratio > decode.busy_ratio ? "prefill pool" : "decode pool";
  }
};

struct PoolsResult {
  std::vector<PoolsPlan> plans;  // best first
  std::string refused;           // why there are none
};

// InputError when replicas are fixed (pools count their own). Other fixed degrees hold for both pools.
[[nodiscard]] PoolsResult search_pools(const PlanRequest& request);

}  // namespace shardplan
