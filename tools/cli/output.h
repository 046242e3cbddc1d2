// --format and --output: how a command's answer is written, and where.
#pragma once

#include <functional>
#include <string>

#include "tools/cli/flag.h"

namespace shardplan {

struct Output {
  bool json = false;
  std::string file;  // empty: standard output
};

[[nodiscard]] FlagGroup output_flags(Output& output);
// InputError unless the file's folder exists: said before a long computation.
void check_output(const Output& output);
// One of the two texts, whole or not at all.
void deliver(const Output& output, const std::function<std::string()>& table, const std::function<std::string()>& json);

}  // namespace shardplan
