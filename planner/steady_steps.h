// The two steps of a plan's steady state, for whoever takes a step apart.
#pragma once

#include "costmodel/batch.h"
#include "planner/plan.h"

namespace shardplan {

// Running sequences of one batch in flight, half of their output written.
[[nodiscard]] BatchShape steady_decode(const PlanRequest& request, const Plan& plan);
// One prompt in every attention group, as much of it as a step takes.
[[nodiscard]] BatchShape steady_prefill(const PlanRequest& request, const Plan& plan);

}  // namespace shardplan
