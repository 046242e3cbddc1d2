// Long sentences in the cells of tables.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace shardplan {

// `text` broken at blanks into lines of at most `width` bytes; a longer word stays whole. At least one line.
[[nodiscard]] std::vector<std::string> wrapped(const std::string& text, std::size_t width);

}  // namespace shardplan
