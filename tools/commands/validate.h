// `shardplan validate`: predictions against a table of measurements.
#pragma once

#include "tools/cli/command_line.h"

namespace shardplan {

void run_validate(const Words& words);

}  // namespace shardplan
