// `shardplan models [NAME]`: the catalog, or one model's sizes.
#pragma once

#include "tools/cli/command_line.h"

namespace shardplan {

void run_models(const Words& words);

}  // namespace shardplan
