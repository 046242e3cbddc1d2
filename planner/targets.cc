#include "planner/targets.h"

#include <fmt/format.h>

#include "base/units.h"

namespace shardplan {
namespace {

void consider(std::optional<TargetMiss>& worst, const char* rule, const char* what, Seconds value,
              const std::optional<Seconds>& target) {
  if (!target || value <= *target) return;
  const double excess = value / *target - 1;
  if (worst && worst->excess_ratio >= excess) return;
  worst = TargetMiss{
      rule, fmt::format("{} {} exceeds the target of {}", what, format_seconds(value), format_seconds(*target)),
      excess};
}

}  // namespace

std::optional<TargetMiss> target_miss(const ServingEstimate& serving, const Targets& targets) {
  if (!serving.feasible) return TargetMiss{"traffic", serving.reason, 1e3};
  std::optional<TargetMiss> worst;
  consider(worst, "ttft", "TTFT", serving.ttft, targets.ttft);
  consider(worst, "tpot", "TPOT", serving.tpot, targets.tpot);
  consider(worst, "e2e", "end-to-end time", serving.e2e, targets.e2e);
  return worst;
}

}  // namespace shardplan
