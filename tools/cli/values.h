// Reading the value of a flag. `where` is the flag; every function throws InputError, naming what would be right.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace shardplan {

struct CountRange {
  std::int64_t min = 1;
  std::int64_t max = 1;
};
struct NumberRange {
  double above_ratio = 0;    // exclusive
  double at_most_ratio = 1;  // inclusive
};

// "a,b,c": its parts; "" has none, "a,,b" an empty one.
[[nodiscard]] std::vector<std::string> split_list(const std::string& text);
// A whole number in decimal digits.
[[nodiscard]] std::int64_t parse_count(const std::string& text, const std::string& where, CountRange range);
// "24,24,23,23": each within the range, at most 4096 of them.
[[nodiscard]] std::vector<std::int64_t> parse_counts(const std::string& text, const std::string& where, CountRange range);
// A finite decimal number.
[[nodiscard]] double parse_number(const std::string& text, const std::string& where, NumberRange range);
// Index of `text` among `names`.
[[nodiscard]] std::size_t parse_choice(const std::string& text, const std::string& where, const std::vector<std::string>& names);

}  // namespace shardplan
