// `shardplan plan`: the search for the best configuration.
#pragma once

#include "tools/cli/command_line.h"

namespace shardplan {

void run_plan(const Words& words);

}  // namespace shardplan
