// shardplan calibrate SUBCOMMAND: runs shards on this machine; one file per subcommand in calibrate/, one row here each.
#pragma once

#include "tools/commands/command.h"

namespace shardplan {

void run_calibrate(const Words& words);

}  // namespace shardplan
