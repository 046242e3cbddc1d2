// The largest request rate that a deployment bears: enough of the requests that arrive meet every latency target.
//
// Bisection over an open loop, each rate simulated with the same seed. Attainment falls with the rate but for the noise
// of a finite run; the answer is the largest rate tried that held, to 1 %.
#pragma once

#include <vector>

#include "planner/simulate.h"

namespace shardplan {

struct CapacityTrial {
  double requests_per_second = 0;
  double attainment_ratio = 0;            // of those that arrived, within all targets
};

struct Capacity {
  double requests_per_second = 0;         // 0: not even a trickle meets the targets
  std::vector<CapacityTrial> trials;      // in order of trying
};

// Preconditions of simulate_config; the request has targets. `pools`: of a prefill and a decode pool, else null.
[[nodiscard]] Capacity find_capacity(const PlanRequest& request, const ParallelConfig& config, const PoolConfigs* pools,
                                     const SimulatedTraffic& traffic, const SimulationSettings& settings, double attainment_ratio);

}  // namespace shardplan
