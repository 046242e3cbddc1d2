// The planner's answers, with what only the command line's question knows: whether a context beyond the model's
// positions was meant, and whether a bare decode step's batch has room.
#pragma once

#include "planner/plan.h"

namespace shardplan {

[[nodiscard]] PlanResult ask_plan(const PlanRequest& request);
[[nodiscard]] EstimateResult ask_estimate(const PlanRequest& request, const ParallelConfig& config, const BareSteps& steps);

}  // namespace shardplan
