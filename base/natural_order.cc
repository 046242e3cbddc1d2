#include "base/natural_order.h"

#include <algorithm>

namespace shardplan {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// The run of digits that `text` begins with, without leading zeros; `text` is shortened by it.
std::string_view take_number(std::string_view& text) {
  const auto* const end = std::find_if_not(text.begin(), text.end(), is_digit);
  std::string_view digits = text.substr(0, static_cast<std::size_t>(end - text.begin()));
  text.remove_prefix(digits.size());
  digits.remove_prefix(std::min(digits.size(), digits.find_first_not_of('0')));
  return digits;
}

}  // namespace

bool natural_less(std::string_view a, std::string_view b) {
  while (!a.empty() && !b.empty()) {
    if (!is_digit(a.front()) || !is_digit(b.front())) {
      if (a.front() != b.front()) return a.front() < b.front();
      a.remove_prefix(1);
      b.remove_prefix(1);
      continue;
    }
    const std::string_view left = take_number(a);
    const std::string_view right = take_number(b);
    if (left.size() != right.size()) return left.size() < right.size();
    if (left != right) return left < right;
  }
  return a.size() < b.size();
}

}  // namespace shardplan
