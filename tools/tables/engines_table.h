// The engines, or the rules of one, for people.
#pragma once

#include <string>
#include <vector>

#include "planner/engine.h"

namespace shardplan {

[[nodiscard]] std::string engines_table(const std::vector<Engine>& engines);
[[nodiscard]] std::string rules_table(const Engine& engine);

}  // namespace shardplan
