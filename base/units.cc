#include "base/units.h"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <cmath>
#include <cstdlib>

#include "base/errors.h"

namespace shardplan {
namespace {

struct Prefix {
  std::string_view name;
  double factor;
};
constexpr std::array<Prefix, 10> kPrefixes{{{"Ki", 0x1p10}, {"Mi", 0x1p20}, {"Gi", 0x1p30}, {"Ti", 0x1p40},
                                            {"k", 1e3}, {"M", 1e6}, {"G", 1e9}, {"T", 1e12}, {"P", 1e15}, {"", 1}}};

struct Split {
  double number;
  std::string_view unit;
};

Split split(std::string_view text, const std::string& where, const char* example) {
  const std::string copy(text);
  char* end = nullptr;
  errno = 0;
  const double number = std::strtod(copy.c_str(), &end);
  const auto used = static_cast<std::size_t>(end - copy.c_str());
  const bool hexadecimal = copy.find_first_of("xX") < used;
  if (used == 0 || hexadecimal || !std::isfinite(number) || number < 0 || errno == ERANGE) {
    throw InputError(where, fmt::format("\"{}\" is not a quantity", text), fmt::format("for example \"{}\"", example));
  }
  std::string_view unit = text.substr(used);
  while (!unit.empty() && unit.front() == ' ') unit.remove_prefix(1);
  while (!unit.empty() && unit.back() == ' ') unit.remove_suffix(1);
  return {number, unit};
}

// number in base units, where `bases` lists (unit, factor).
double scaled(std::string_view text, const std::string& where, const char* example,
              std::initializer_list<Prefix> bases) {
  const auto [number, unit] = split(text, where, example);
  for (const Prefix& prefix : kPrefixes) {
    for (const Prefix& base : bases) {
      if (unit != std::string(prefix.name) + std::string(base.name)) continue;
      const double value = number * prefix.factor * base.factor;
      if (!std::isfinite(value)) throw InputError(where, fmt::format("\"{}\" is too large", text), "a finite quantity");
      return value;
    }
  }
  throw InputError(where, fmt::format("\"{}\" has {} unit", text, unit.empty() ? "no" : "an unknown"),
                   fmt::format("for example \"{}\"", example));
}

}  // namespace

Bytes parse_bytes(std::string_view text, const std::string& where) {
  const double value = scaled(text, where, "141 GB", {{"B", 1}});
  if (value > 9e18) throw InputError(where, fmt::format("\"{}\" is too large", text), "fewer than 2^63 bytes");
  return Bytes(static_cast<std::int64_t>(std::llround(value)));
}

BytesPerSecond parse_bandwidth(std::string_view text, const std::string& where) {
  return BytesPerSecond(scaled(text, where, "4.8 TB/s", {{"B/s", 1}, {"b/s", 0.125}}));
}

FlopsPerSecond parse_flops_rate(std::string_view text, const std::string& where) {
  return FlopsPerSecond(scaled(text, where, "989 TFLOP/s", {{"FLOP/s", 1}}));
}

Seconds parse_seconds(std::string_view text, const std::string& where) {
  const auto [number, unit] = split(text, where, "3 us");
  if (unit == "ns") return Seconds(number * 1e-9);
  if (unit == "us") return Seconds(number * 1e-6);
  if (unit == "ms") return Seconds(number * 1e-3);
  if (unit == "s") return Seconds(number);
  throw InputError(where, fmt::format("\"{}\" has {} unit", text, unit.empty() ? "no" : "an unknown"), "ns, us, ms or s");
}

std::string format_bytes(Bytes bytes) {
  const auto value = static_cast<double>(bytes.value());
  const double size = std::abs(value);
  if (size >= 0x1p30) return fmt::format("{:.2f} GiB", value / 0x1p30);
  if (size >= 0x1p20) return fmt::format("{:.2f} MiB", value / 0x1p20);
  if (size >= 0x1p10) return fmt::format("{:.2f} KiB", value / 0x1p10);
  return fmt::format("{} B", bytes.value());
}

std::string format_seconds(Seconds time) {
  const double value = time.value();
  const double size = std::abs(value);
  if (!std::isfinite(value)) return "-";
  if (size >= 100) return fmt::format("{:.0f} s", value);
  if (size >= 1) return fmt::format("{:.2f} s", value);
  if (size >= 0.1) return fmt::format("{:.0f} ms", value * 1e3);
  if (size >= 1e-3) return fmt::format("{:.2f} ms", value * 1e3);
  return fmt::format("{:.2f} us", value * 1e6);
}

std::string format_count(double count) {
  if (!std::isfinite(count)) return "-";
  if (std::abs(count) >= 1e12) return fmt::format("{:.3e}", count);
  std::string digits = fmt::format("{:.0f}", count);
  const std::ptrdiff_t first = count < 0 ? 1 : 0;
  for (auto i = static_cast<std::ptrdiff_t>(digits.size()) - 3; i > first; i -= 3) {
    digits.insert(static_cast<std::size_t>(i), ",");
  }
  return digits;
}

}  // namespace shardplan
