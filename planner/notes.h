// What a reader of a plan should know about its inputs: assumptions of the model, an uncalibrated profile, a context
// beyond the model's positions.
#pragma once

#include <string>
#include <vector>

#include "planner/plan.h"

namespace shardplan {

[[nodiscard]] std::vector<std::string> notes_of(const PlanRequest& request);

}  // namespace shardplan
