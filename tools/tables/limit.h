// What keeps a plan from serving more requests at once.
#pragma once

#include <string>

#include "planner/plan.h"

namespace shardplan {

// "kv cache", "seats", "concurrency", "rate"; where the concurrency was searched, the target that ends it: "TPOT target".
[[nodiscard]] std::string limit_of(const Plan& plan, const PlanRequest& request);

}  // namespace shardplan
