// The document shardplan.plan/1: ranked plans, the Pareto front, and why the rest was refused.
#pragma once

#include <string>

#include "planner/plan.h"
#include "tools/request/request_flags.h"

namespace shardplan {

[[nodiscard]] std::string plan_document(const RequestFlags& flags, const PlanRequest& request, const PlanResult& result);

}  // namespace shardplan
