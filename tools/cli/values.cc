#include "tools/cli/values.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string_view>
#include <system_error>

#include "base/errors.h"
#include "base/suggest.h"
#include "base/units.h"

namespace shardplan {
namespace {

constexpr std::size_t kMostCounts = 4096;

std::string quoted(std::string_view text) {
  constexpr std::size_t kShown = 60;
  return text.size() <= kShown ? fmt::format("\"{}\"", text) : fmt::format("\"{}...\"", text.substr(0, kShown));
}

std::string words_of(CountRange range) {
  return fmt::format("a whole number from {} to {}", format_count(static_cast<double>(range.min)),
                     format_count(static_cast<double>(range.max)));
}

std::string words_of(NumberRange range) {
  return fmt::format("a number above {} and at most {}", range.above_ratio,
                     range.at_most_ratio < 1 ? fmt::format("{}", range.at_most_ratio) : format_count(range.at_most_ratio));
}

}  // namespace

std::int64_t parse_count(const std::string& text, const std::string& where, CountRange range) {
  std::int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  const bool whole = stop == end && !text.empty() && error != std::errc::invalid_argument;
  if (!whole) throw InputError(where, quoted(text) + " is not a whole number", words_of(range));
  if (error == std::errc::result_out_of_range || value < range.min || value > range.max) {
    throw InputError(where, quoted(text) + " is out of range", words_of(range));
  }
  return value;
}

std::vector<std::string> split_list(const std::string& text) {
  std::vector<std::string> parts;
  for (std::size_t start = 0; !text.empty() && start <= text.size();) {
    const std::size_t comma = std::min(text.find(',', start), text.size());
    parts.push_back(text.substr(start, comma - start));
    start = comma + 1;
  }
  return parts;
}

std::vector<std::int64_t> parse_counts(const std::string& text, const std::string& where, CountRange range) {
  std::vector<std::string> parts = split_list(text);
  if (parts.empty()) parts.emplace_back();   // which is no number
  if (parts.size() > kMostCounts) throw InputError(where, "too many numbers", fmt::format("at most {}", kMostCounts));
  std::vector<std::int64_t> values;
  for (const std::string& part : parts) values.push_back(parse_count(part, where, range));
  return values;
}

double parse_number(const std::string& text, const std::string& where, NumberRange range) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (stop != end || text.empty() || error == std::errc::invalid_argument || std::isnan(value)) {
    throw InputError(where, quoted(text) + " is not a number", words_of(range));
  }
  const bool inside = error == std::errc{} && value > range.above_ratio && value <= range.at_most_ratio;
  if (!inside) throw InputError(where, quoted(text) + " is out of range", words_of(range));
  return value;
}

std::size_t parse_choice(const std::string& text, const std::string& where, const std::vector<std::string>& names) {
  const auto found = std::find(names.begin(), names.end(), text);
  if (found == names.end()) throw InputError(where, quoted(text) + " is unknown", nearest_hint(text, names));
  return static_cast<std::size_t>(found - names.begin());
}

}  // namespace shardplan
