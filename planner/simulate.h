// One configuration under single requests: the deployment that `estimate` prices, handed to the simulator.
//
// Step times come from the same pricer and host costs, KV blocks from the same ledger, seats and token budget from the
// same scheduler defaults; pp batches are in flight. Wrong: sliding windows share one block pool at the length of the
// request asked (as the ledger does); prefix caching reuses whole blocks that a trace names, no others; the server path is
// the engine's, also under another engine's scheduler.
#pragma once

#include <string>

#include "planner/plan.h"
#include "planner/simulated_traffic.h"
#include "sim/simulation.h"

namespace shardplan {

struct SimulationSettings {
  std::string scheduler = "vllm";       // a row of schedulers()
  std::string router = "round_robin";   // a row of routers()
  RecordSink* records = nullptr;
  Timeline* timeline = nullptr;
};

// Preconditions: the configuration is legal and its ledger fits (estimate_config says so). The workload's isl and osl are
// those of the longest request. InputError on unknown names or a bad row of the trace.
[[nodiscard]] SimulationResult simulate_config(const PlanRequest& request, const ParallelConfig& config, const SimulatedTraffic& traffic,
                                               const SimulationSettings& settings);

}  // namespace shardplan
