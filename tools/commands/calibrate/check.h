// shardplan calibrate check: the proof that every sharding adds up.
#pragma once

#include "tools/commands/command.h"

namespace shardplan {

void run_calibrate_check(const Words& words);

}  // namespace shardplan
