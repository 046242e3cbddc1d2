#include "models/in_quotes.h"

#include <algorithm>

namespace shardplan {

std::string in_quotes(std::string_view text) {
  constexpr std::size_t kShown = 64;
  std::string shown(text.substr(0, kShown));
  std::replace_if(
      shown.begin(), shown.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; }, '?');
  return "\"" + shown + (text.size() > kShown ? "..." : "") + "\"";
}

}  // namespace shardplan
