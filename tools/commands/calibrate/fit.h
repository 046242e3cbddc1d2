// shardplan calibrate fit: a profile of a machine from what calibrate run measured on it.
#pragma once

#include "tools/commands/command.h"

namespace shardplan {

void run_calibrate_fit(const Words& words);

}  // namespace shardplan
