// `shardplan estimate`: one configuration: its memory, its steps, the serving it predicts.
#pragma once

#include "tools/cli/command_line.h"

namespace shardplan {

void run_estimate(const Words& words);

}  // namespace shardplan
