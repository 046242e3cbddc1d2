// shardplan calibrate steps: whole steps measured on this machine, against their price.
#pragma once

#include "tools/commands/command.h"

namespace shardplan {

void run_calibrate_steps(const Words& words);

}  // namespace shardplan
