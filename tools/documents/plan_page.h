// The answer of `shardplan plan` as one HTML page: the front and the plans as a plot, the table below.
#pragma once

#include <optional>
#include <string>

#include "planner/disaggregation/pools.h"
#include "planner/plan.h"

namespace shardplan {

// `table`: the answer for people.
[[nodiscard]] std::string plan_page(const PlanRequest& request, const PlanResult& result,
                                    const std::optional<PoolsResult>& pools, const std::string& table);

}  // namespace shardplan
