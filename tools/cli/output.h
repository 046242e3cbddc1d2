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
// Whether the answer is an HTML page: an --output that ends in .html.
[[nodiscard]] bool is_page(const Output& output);
// InputError unless the file's folder exists and takes what --format says: said before a long computation.
void check_output(const Output& output);
// One of the two texts, whole or not at all; a table becomes a page where one is asked for.
void deliver(const Output& output, const std::function<std::string()>& table, const std::function<std::string()>& json);

}  // namespace shardplan
