// How the plan is launched, for people.
#pragma once

#include <optional>
#include <string>

#include "tools/request/launch_files.h"

namespace shardplan {

// Empty without plans. `folder`: where the files were written; empty: nowhere.
[[nodiscard]] std::string launch_table(const std::optional<ChosenLaunch>& chosen, const std::string& folder);

[[nodiscard]] std::string pools_launch_table(const std::optional<ChosenPools>& chosen, const std::string& folder);

}  // namespace shardplan
