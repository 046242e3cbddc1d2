// The program as a function: finds the command, runs it, and turns what ends it into an exit status.
#pragma once

#include "tools/cli/command_line.h"

namespace shardplan {

// The version that every document names.
[[nodiscard]] const char* program_version();

// `words` are the command line without the program's name. Errors are one line on standard error each.
[[nodiscard]] int run_program(const Words& words);

}  // namespace shardplan
