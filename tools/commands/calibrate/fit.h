// shardplan calibrate fit: coefficients of what was measured.
#pragma once

#include "tools/commands/command.h"

namespace shardplan {

void run_calibrate_fit(const Words& words);

}  // namespace shardplan
