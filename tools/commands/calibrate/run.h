// shardplan calibrate run: measures what a plan's steps consist of.
#pragma once

#include "tools/commands/command.h"

namespace shardplan {

void run_calibrate_run(const Words& words);

}  // namespace shardplan
