// `shardplan calibrate fit --serving FILE`: engine times from measured serving points.
#pragma once

#include "tools/cli/command_line.h"

namespace shardplan {

void run_calibrate_fit_serving(const Words& words);

}  // namespace shardplan
