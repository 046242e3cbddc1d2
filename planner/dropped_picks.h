// What a capacity factor drops in a plan's steady steps.
#pragma once

#include <string>

#include "planner/plan.h"

namespace shardplan {

// Sets the plan's shares of dropped picks; nothing without a capacity factor. Precondition: it serves.
void add_dropped_picks(const PlanRequest& request, Plan& plan);

// "3.1 % of picks dropped: experts take 40 of 1,024 tokens, the most popular is asked for 96". "" for nothing.
[[nodiscard]] std::string dropped_text(const std::optional<ExpertDrops>& drops);

}  // namespace shardplan
