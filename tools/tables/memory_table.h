// Memory of one rank by stage and owner, and what the rest holds as cache.
#pragma once

#include <string>

#include "planner/plan.h"

namespace shardplan {

// `request_tokens`: of one request, for the number that fit.
[[nodiscard]] std::string memory_table(const Plan& plan, std::int64_t request_tokens);

}  // namespace shardplan
