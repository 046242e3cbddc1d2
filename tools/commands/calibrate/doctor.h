// shardplan calibrate doctor: what is wrong with a fabric.
#pragma once

#include "tools/commands/command.h"

namespace shardplan {

void run_calibrate_doctor(const Words& words);

}  // namespace shardplan
