#include "planner/targets.h"

#include <fmt/format.h>

#include "base/units.h"

namespace shardplan {
namespace {

void consider(std::optional<TargetMiss>& worst, const char* rule, const std::string& what, Seconds value,
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
  const char* margin = targets.deviations > 0 ? " and its margin" : "";
  consider(worst, "ttft", std::string("TTFT") + margin, serving.ttft * targets.margin_ratio(serving.spread.ttft), targets.ttft);
  consider(worst, "tpot", std::string("TPOT") + margin, serving.tpot * targets.margin_ratio(serving.spread.tpot), targets.tpot);
  consider(worst, "e2e", std::string("end-to-end time") + margin, serving.e2e * targets.margin_ratio(serving.spread.end_to_end), targets.e2e);
  return worst;
}

}  // namespace shardplan
