// `shardplan simulate`: one configuration under single requests, recorded or synthetic.
#pragma once

#include "tools/cli/command_line.h"

namespace shardplan {

void run_simulate(const Words& words);

}  // namespace shardplan
