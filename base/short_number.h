// Numbers for people, where three digits are enough.
#pragma once

#include <string>

namespace shardplan {

// Three digits that matter, thousands separated: "0.123", "12.3", "1,234"; "-" unless finite.
[[nodiscard]] std::string short_number(double value);

}  // namespace shardplan
