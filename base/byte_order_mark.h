// The mark that some programs put before UTF-8 text.
#pragma once

#include <string_view>

namespace shardplan {

// `text` behind it, where it begins with one.
[[nodiscard]] constexpr std::string_view without_byte_order_mark(std::string_view text) {
  constexpr std::string_view kMark = "\xEF\xBB\xBF";
  return text.substr(0, kMark.size()) == kMark ? text.substr(kMark.size()) : text;
}

}  // namespace shardplan
