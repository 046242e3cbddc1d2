// The program as a function: finds the command, runs it, and turns what ends it into an exit status.
#pragma once

#include <stdexcept>

#include "tools/cli/command_line.h"

namespace shardplan {

// The version that every document names.
[[nodiscard]] const char* program_version();

// A comparison that was asked for and does not come out: its answer is printed, the exit status is 1.
class NotAsExpected : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};
inline constexpr int kExitNotAsExpected = 1;

// `words` are the command line without the program's name. Errors are one line on standard error each.
[[nodiscard]] int run_program(const Words& words);

}  // namespace shardplan
