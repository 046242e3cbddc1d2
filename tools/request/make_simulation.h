// The simulation that flags describe: traffic, scheduling, faults, pools.
#pragma once

#include <optional>

#include "planner/simulate.h"
#include "tools/request/request_flags.h"

namespace shardplan {

// Of `simulate`, before make_request: also sets --isl and --osl to the longest request's lengths, which memory is sized
// for (a trace is read to its end for it). InputError on flags that contradict one another, or a bad row.
[[nodiscard]] SimulatedTraffic make_traffic(RequestFlags& flags);

// `config` names the replicas that ranks belong to. Sinks are the caller's.
[[nodiscard]] SimulationSettings make_simulation_settings(const RequestFlags& flags, const ParallelConfig& config, const ParallelConfig* decode);

// The pools asked for; nothing: one pool that serves both phases.
[[nodiscard]] std::optional<PoolConfigs> make_pools(const RequestFlags& flags, const ModelSpec& model);

}  // namespace shardplan
