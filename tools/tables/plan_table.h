// The answer of `plan` for people: ranked plans, the Pareto front, what was refused.
#pragma once

#include <string>

#include "planner/plan.h"

namespace shardplan {

[[nodiscard]] std::string plan_table(const PlanRequest& request, const PlanResult& result);

}  // namespace shardplan
