// `shardplan hardware [NAME]`: the catalog, or one machine with the source of every number.
#pragma once

#include "tools/cli/command_line.h"

namespace shardplan {

void run_hardware(const Words& words);

}  // namespace shardplan
