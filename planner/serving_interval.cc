#include "planner/serving_interval.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace shardplan {
namespace {

constexpr double kRunToRunTpot = 0.023;  // repeated runs of one point: 1.6 % in TPOT, 4.7 % in TTFT; protocols add as much
constexpr double kRunToRunTtft = 0.25;
// Of a kernel's own spread, what is left where a fit to serving rows of its kind has averaged it out.
constexpr double kSeen = 0.3;
// Errors have long tails, so that more of them lie near: p90 of Student's t with 4 degrees of freedom lies at 1.084
// standard deviations, the normal's at 1.282.
constexpr double kStudentP90 = 1.5332062740589438;                            // with a variance of 2
constexpr double kTail = kStudentP90 / std::numbers::sqrt2 / kP90;
constexpr double kStep = 0.05;  // of a logarithm, for the derivatives

struct Quantities {
  double tpot = 0, ttft = 0, end_to_end = 0;
};

Quantities logs(const LoopSteps& s, const EngineTimes& times, const LoopTraffic& traffic) {
  const LoopTimes t = solve_loop(s, times, traffic);
  const double ttft = t.ttft();
  return {std::log(t.tpot), std::log(ttft), std::log(ttft + std::max(0.0, s.osl - 1) * t.tpot)};
}

class Sum {
 public:
  Sum(const LoopSteps& s, const EngineTimes& times, const LoopTraffic& traffic)
      : steps_(s), traffic_(traffic), base_(logs(s, times, traffic)) {}

  void add(const EngineTimes& moved, double spread) {
    if (spread <= 0) return;
    const Quantities q = logs(steps_, moved, traffic_);
    const auto square = [&](double to, double from) { return std::pow((to - from) / kStep * spread, 2); };
    tpot_ += square(q.tpot, base_.tpot);
    ttft_ += square(q.ttft, base_.ttft);
    end_ += square(q.end_to_end, base_.end_to_end);
  }
  [[nodiscard]] LogSpread result() const {
    return {.tpot = kTail * std::sqrt(tpot_ + kRunToRunTpot * kRunToRunTpot),
            .ttft = kTail * std::sqrt(ttft_ + kRunToRunTtft * kRunToRunTtft),
            .end_to_end = kTail * std::sqrt(end_ + kRunToRunTpot * kRunToRunTpot)};
  }

 private:
  const LoopSteps& steps_;
  const LoopTraffic& traffic_;
  Quantities base_;
  double tpot_ = 0, ttft_ = 0, end_ = 0;
};

// `times` with one term longer by kStep.
EngineTimes moved(const EngineTimes& times, TimeTerm term) {
  EngineTimes out = times;
  const double up = std::exp(kStep);
  for (const HostTerm& host : kHostTerms) {
    if (host.term != term) continue;
    out.host.*host.of = out.host.*host.of * up;
    return out;
  }
  switch (term) {
    case TimeTerm::kPrefillProduct:
      out.factors.prefill_product *= up;
      break;
    case TimeTerm::kPrefillElementwise:
      out.factors.prefill_elementwise *= up;
      break;
    case TimeTerm::kDecode:
      out.decode_ratio *= up;
      break;
    case TimeTerm::kPrefill:
      out.prefill_ratio *= up;
      break;
    case TimeTerm::kQueue:
      out.queue_ratio *= up;
      break;
    default:
      out.factors.of[static_cast<std::size_t>(term) - static_cast<std::size_t>(TimeTerm::kGemm)] *= up;
      break;
  }
  return out;
}

}  // namespace

// Student's t with 4 degrees of freedom: F(t) = 1/2 + 3x/4 - x^3/4 with x = t/sqrt(4 + t^2).
double deviations_of(double probability) {
  double low = -1, high = 1;
  for (int i = 0; i < 60; ++i) {
    const double x = (low + high) / 2;
    (0.5 + 0.75 * x - 0.25 * x * x * x < probability ? low : high) = x;
  }
  const double t = 2 * low / std::sqrt(1 - low * low);
  return t / kStudentP90 * kP90;
}

LogSpread spread_of(const LoopSteps& steps, const EngineTimes& times, const LoopTraffic& traffic) {
  Sum sum(steps, times, traffic);
  const bool settled = times.spread[static_cast<std::size_t>(TimeTerm::kDecode)] > 0;
  for (std::size_t i = 0; i < kTimeTerms; ++i) {
    const auto term = static_cast<TimeTerm>(i);
    sum.add(moved(times, term), times.spread[i]);
    if (settled || term < TimeTerm::kGemm || term > TimeTerm::kLaunch) continue;
    const std::size_t part = i - static_cast<std::size_t>(TimeTerm::kGemm);
    sum.add(moved(times, term), (times.unseen[i] ? 1 : kSeen) * steps.deviation[part]);
  }
  return sum.result();
}

}  // namespace shardplan
