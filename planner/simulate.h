// One configuration under single requests: the deployment that `estimate` prices, handed to the simulator.
//
// Step times come from the same pricer and host costs, KV blocks from the same ledger, seats and token budget from the
// same scheduler defaults; pp batches are in flight. Wrong: sliding windows share one block pool at the length of the
// request asked (as the ledger does); prefix caching reuses whole blocks that a trace names, no others.
#pragma once

#include <optional>
#include <vector>

#include "planner/cache_transfer.h"
#include "planner/elastic.h"
#include "planner/plan.h"
#include "planner/simulated_pool.h"
#include "planner/simulated_traffic.h"
#include "sim/simulation.h"

namespace shardplan {

// Each instance is asked to go on with so many ranks.
struct ScaleAsk {
  Seconds at;
  std::int64_t ranks = 0;
};
struct ScaleChoice {
  std::vector<ScaleAsk> asks;           // in time
  std::optional<Seconds> drain;         // wait so long for all requests to end; nothing: those of groups that go start over
  Seconds fixed = kSwitchSeconds;
};

struct SimulationSettings {
  SchedulingChoice scheduling;
  RoutingChoice routing;
  TierChoice tiers;
  std::vector<ReplicaFault> faults;
  ScaleChoice scales;                   // of an elastic configuration
  bool requeue_lost = true;
  std::int64_t max_waiting = 0;         // requests in the deployment before newcomers are rejected; 0: the simulator's
  std::optional<Seconds> stop_after;    // no arrivals after
  RecordSink* records = nullptr;
  Timeline* timeline = nullptr;
};

// The question with memory sized for the longest request that the configuration can hold and the engine admits (the
// model's positions, --max-model-len), where the workload's longest is longer: such requests are then rejected one by
// one. Unchanged where nothing fits, or the configuration has no lowering.
[[nodiscard]] PlanRequest sized_request(const PlanRequest& request, const ParallelConfig& config);

// Preconditions: the configuration is legal and its ledger fits (estimate_config says so). The workload's isl and osl are
// those of the longest request. InputError on unknown names or a bad row of the trace.
[[nodiscard]] SimulationResult simulate_config(const PlanRequest& request, const ParallelConfig& config, const SimulatedTraffic& traffic,
                                               const SimulationSettings& settings);

// As above, of a pool that is there already.
[[nodiscard]] SimulationResult simulate_pool(const PlanRequest& request, const SimulatedPool& pool, const SimulatedTraffic& traffic,
                                             const SimulationSettings& settings);

// Prompts are computed by one pool, answers by the other; `replicas` of each counts its instances.
struct PoolConfigs {
  ParallelConfig prefill;
  ParallelConfig decode;
};
// As above, of both configurations.
[[nodiscard]] SimulationResult simulate_pools(const PlanRequest& request, const PoolConfigs& pools, const SimulatedTraffic& traffic,
                                              const SimulationSettings& settings);

// As above, of pools that are there already.
[[nodiscard]] SimulationResult simulate_pools(const PlanRequest& request, const SimulatedPool& prefill, const SimulatedPool& decode,
                                              const SimulatedTraffic& traffic, const SimulationSettings& settings);

}  // namespace shardplan
