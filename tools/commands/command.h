// One command of the program: a row of the registry.
#pragma once

#include <string>
#include <vector>

#include "tools/cli/command_line.h"

namespace shardplan {

struct Command {
  const char* name;
  const char* help;                // one line, for the list of commands
  void (*run)(const Words& words);  // the words after the name; InputError or EnvironmentError ends the program
};

}  // namespace shardplan
