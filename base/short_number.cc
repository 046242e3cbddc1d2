#include "base/short_number.h"

#include <fmt/format.h>

#include <cmath>

#include "base/units.h"

namespace shardplan {

std::string short_number(double value) {
  if (!std::isfinite(value)) return "-";
  const double size = std::abs(value);
  if (size == 0) return "0";
  if (size >= 99.95) return format_count(value);
  if (size >= 9.995) return fmt::format("{:.1f}", value);
  if (size >= 0.0995) return fmt::format("{:.2f}", value);
  if (size >= 0.0005) return fmt::format("{:.3f}", value);
  return value < 0 ? ">-0.001" : "<0.001";
}

}  // namespace shardplan
