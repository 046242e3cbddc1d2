// The planner's answers, with what only the command line's question knows: whether a context beyond the model's
// positions was meant, and whether a bare decode step's batch has room.
#pragma once

#include <optional>

#include "planner/disaggregation/pools.h"
#include "planner/plan.h"
#include "tools/request/request_flags.h"

namespace shardplan {

struct PlanAnswer {
  PlanResult result;
  std::optional<PoolsResult> pools;  // where they were asked for
};
// The best of them simulated where that was asked for.
[[nodiscard]] PlanAnswer ask_plan(const PlanRequest& request, const SearchFlags& search);
[[nodiscard]] EstimateResult ask_estimate(const PlanRequest& request, const ParallelConfig& config,
                                          const BareSteps& steps);

}  // namespace shardplan
