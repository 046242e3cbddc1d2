// Which instance sizes are worth placing on machines.
//
// An instance or stage of n GPUs tiles when n divides a fast domain, is a multiple of one, or divides the budget. Other
// sizes straddle domains or leave GPUs idle: 7 of 8, or 12 over nodes of 8. They are legal, and are looked at where the
// user fixes a degree of the instance; a search leaves them out.
#pragma once

#include <cstdint>

#include "planner/plan.h"

namespace shardplan {

[[nodiscard]] bool tiles(const PlanRequest& request, std::int64_t gpus);
// Instances of that size that the budget holds, none astride two domains unless it is wider than one.
[[nodiscard]] std::int64_t instances_that_fit(const PlanRequest& request, std::int64_t instance_gpus);

}  // namespace shardplan
