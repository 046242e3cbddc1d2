// The document shardplan.plan/1: ranked plans, the Pareto front, and why the rest was refused.
#pragma once

#include <optional>
#include <string>

#include "planner/disaggregation/pools.h"
#include "tools/request/request_flags.h"

namespace shardplan {

// `pools`: when they were asked for.
[[nodiscard]] std::string plan_document(const RequestFlags& flags, const PlanRequest& request, const PlanResult& result,
                                        const std::optional<PoolsResult>& pools);

}  // namespace shardplan
