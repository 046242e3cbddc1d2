// `shardplan engines [NAME]`: the engines that plans can be made legal for, or the rules of one.
#pragma once

#include "tools/cli/command_line.h"

namespace shardplan {

void run_engines(const Words& words);

}  // namespace shardplan
