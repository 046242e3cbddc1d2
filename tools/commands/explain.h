// `shardplan explain PLAN.json`: asks again what a plan document answered, and says why.
#pragma once

#include "tools/cli/command_line.h"

namespace shardplan {

void run_explain(const Words& words);

}  // namespace shardplan
