// The best plans of a search once more, by simulation: a mean in closed form chose them, single requests judge them.
//
// Each plan runs under the traffic it was ranked at: its concurrency in a closed loop, or the rate as Poisson arrivals.
// Lengths vary by a tenth around the workload's, so that requests do not move in lock-step. Means meet the targets or not, as in
// the search; those that do come first, then the objective ranks. Throughput is that between the run's ramps, so that a
// rate that is kept is not missed for the run's length. Same answer at any number of threads.
#pragma once

#include <cstddef>

#include "planner/disaggregation/pools.h"
#include "planner/plan.h"

namespace shardplan {

// Fills `simulated` of the first `count` plans and ranks these anew, ahead of the rest.
void verify_plans(const PlanRequest& request, std::size_t count, std::vector<Plan>& plans);

// The same of pairs of pools, their rate as Poisson arrivals unless a concurrency was asked for.
void verify_pools(const PlanRequest& request, std::size_t count, std::vector<PoolsPlan>& plans);

}  // namespace shardplan
