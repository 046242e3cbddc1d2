// The reference material of the project, where a checkout has it beside itself.
#pragma once

#include <optional>
#include <string>

namespace shardplan {

// Path of `name` below $SHARDPLAN_SHARED, or nullopt (with a warning in the test's output) when the
// folder is not there.
[[nodiscard]] std::optional<std::string> shared_path(const std::string& name);

}  // namespace shardplan
