// How far a serving prediction may be off: p10 to p90 of TPOT, TTFT and throughput.
//
//   var(log q) = sum over engine terms (dlog q/dlog term * its spread)^2
//              + sum over kernel families (dlog q/dlog family * its residual spread)^2
//              + what no term explains (run to run, protocol)
// Derivatives are taken on the closed loop itself, so that a kernel that takes a tenth of a step widens the interval by
// a tenth of its own. A term that rows of this deployment settled (`decode` in an overlay) replaces the spreads below
// it.
#pragma once

#include "planner/serving_loop.h"

namespace shardplan {

struct LogSpread {
  double tpot = 0;
  double ttft = 0;
  double end_to_end = 0;  // of a request: throughput is its inverse
};

inline constexpr double kP90 = 1.2815515655446004;  // standard deviations from the median to p90

// Multiples of a LogSpread below which an error stays with this probability, in (0, 1): kP90 for 0.9, and the tails that
// intervals have.
[[nodiscard]] double deviations_of(double probability);

[[nodiscard]] LogSpread spread_of(const LoopSteps& steps, const EngineTimes& times, const LoopTraffic& traffic);

}  // namespace shardplan
