// From costed configurations to ranked plans.
#pragma once

#include <vector>

#include "planner/search/cost.h"

namespace shardplan {

// Best first; equal ranks keep the order of enumeration, which has simpler configurations first.
void rank(std::vector<Costed>& found);

// The first `request.top` of ranked configurations. What is left out is tallied as "dominated" by the winner. For
// throughput, a plan that leaves GPUs idle is left out where it would outrank the winner per used GPU alone
// ("idle_gpus"), so that plans are sorted by both ratios.
[[nodiscard]] std::vector<Costed> keep_best(const PlanRequest& request, const std::vector<Costed>& ranked,
                                            RejectionTally& refused);

// The plan of a costed configuration, with everything that a plan file shows.
[[nodiscard]] Plan make_plan(const PlanRequest& request, const Costed& costed, const CollectivePricer& collectives);

}  // namespace shardplan
