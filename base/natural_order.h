// The order in which people list names that hold numbers.
#pragma once

#include <string_view>

namespace shardplan {

// "1.3.0rc10" before "1.3.0rc20", "2 ranks" before "16 ranks": runs of digits as numbers, the rest byte by byte.
[[nodiscard]] bool natural_less(std::string_view a, std::string_view b);

}  // namespace shardplan
