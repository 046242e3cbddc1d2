// The document shardplan.engines/1: the engines that plans can be made legal for.
#pragma once

#include <string>
#include <vector>

#include "planner/engine.h"

namespace shardplan {

[[nodiscard]] std::string engines_document(const std::vector<Engine>& engines);

}  // namespace shardplan
