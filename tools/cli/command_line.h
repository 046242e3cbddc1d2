// The words after a command's name: parsed against its flags, or explained by --help.
#pragma once

#include <string>
#include <vector>

#include "tools/cli/flag.h"

namespace shardplan {

using Words = std::vector<std::string>;

struct CommandLine {
  std::string name;     // "shardplan plan"
  std::string help;     // a few lines: what it answers
  std::string example;  // a command that works as it stands
  std::vector<FlagGroup> groups;
  std::vector<Argument> arguments;
};

// Stores every value. False when --help was among the words: its text is then on standard output and nothing is stored.
// InputError for an unknown or repeated flag, a missing value or argument, and whatever the readers refuse.
[[nodiscard]] bool parse_command_line(const CommandLine& line, const Words& words);

}  // namespace shardplan
