// The part of `plan`'s answer that is about pools of their own for prompts and answers.
#pragma once

#include <string>

#include "planner/disaggregation/pools.h"

namespace shardplan {

// `together`: the plans that do both on every GPU, to compare with.
[[nodiscard]] std::string pools_table(const PoolsResult& pools, const PlanResult& together);

}  // namespace shardplan
