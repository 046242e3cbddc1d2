// Why families of configurations were refused.
#pragma once

#include <string>
#include <vector>

#include "planner/plan.h"

namespace shardplan {

// Empty without rejections.
[[nodiscard]] std::string rejection_table(const std::vector<Rejection>& rejected);

}  // namespace shardplan
