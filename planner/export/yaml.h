// YAML that any reader takes the same way: every text in double quotes, numbers and truth values bare.
#pragma once

#include <string>
#include <string_view>

#include "planner/export/arguments.h"

namespace shardplan {

[[nodiscard]] std::string yaml_text(std::string_view text);  // "..." with escapes
// A number or true/false as it is, else yaml_text.
[[nodiscard]] std::string yaml_scalar(const std::string& value);
// Keys with dots nest; "8,8,7" under `pp_partition` and its like is a list. `indent` blanks before each line.
[[nodiscard]] std::string yaml_mapping(const Arguments& arguments, int indent = 0);
// A literal block: each line of `text` after `indent` blanks.
[[nodiscard]] std::string yaml_block(std::string_view text, int indent);

}  // namespace shardplan
