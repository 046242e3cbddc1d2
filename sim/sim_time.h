// Simulated time: whole picoseconds since the start of a run, and spans of it.
//
// 64 bits hold 106 days. Whole numbers make sums exact in any order, so that many steps taken in one go end where the
// same steps taken one by one end. Longer spans are refused where they enter (InputError).
#pragma once

#include <cmath>
#include <cstdint>

#include "base/errors.h"
#include "base/quantity.h"

namespace shardplan {

using SimTime = Quantity<struct SimTimeTag, std::int64_t>;

inline constexpr double kPicosecondsPerSecond = 1e12;
inline constexpr SimTime kMaxSimTime{4'000'000'000'000'000'000};  // 46 days: sums of two do not wrap

// Nearest picosecond. InputError when negative, not a number, or beyond kMaxSimTime.
[[nodiscard]] inline SimTime sim_time(Seconds seconds) {
  const double picoseconds = seconds.value() * kPicosecondsPerSecond;
  if (!(picoseconds >= 0) || picoseconds > static_cast<double>(kMaxSimTime.value())) {
    throw InputError("simulated time", "a span does not fit", "0 to 46 days");
  }
  return SimTime(std::llround(picoseconds));
}

[[nodiscard]] constexpr Seconds to_seconds(SimTime time) {
  return Seconds(static_cast<double>(time.value()) / kPicosecondsPerSecond);
}

}  // namespace shardplan
