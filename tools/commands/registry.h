// Every command, in the order in which they are listed.
#pragma once

#include <string>
#include <vector>

#include "tools/commands/command.h"

namespace shardplan {

[[nodiscard]] const std::vector<Command>& commands();
// InputError naming the nearest command.
[[nodiscard]] const Command& require_command(const std::string& name);

}  // namespace shardplan
