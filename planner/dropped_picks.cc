#include "planner/dropped_picks.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"
#include "planner/cluster.h"
#include "planner/deployment.h"
#include "planner/steady_steps.h"

namespace shardplan {

void add_dropped_picks(const PlanRequest& request, Plan& plan) {
  if (plan.config.variant.capacity_factor_ratio <= 0 || !plan.serving.feasible) return;
  const Cluster cluster(request, plan.config.instance_gpus());
  Deployment deployment(request, plan.config, {plan.order, plan.max_batched_tokens}, cluster.collectives());
  plan.serving.decode_drops = deployment.pricer().drops(steady_decode(request, plan));
  plan.serving.prefill_drops = deployment.pricer().drops(steady_prefill(request, plan));
}

std::string dropped_text(const std::optional<ExpertDrops>& drops) {
  if (!drops) return "";
  const double percent = 100 * drops->dropped_ratio;
  const std::string part = percent > 0 && percent < 0.05 ? "<0.1" : fmt::format("{:.1f}", percent);
  return fmt::format("{} % of picks dropped: experts take {} of {} tokens, the most popular is asked for {}", part,
                     format_count(static_cast<double>(std::min(drops->capacity, drops->tokens))),
                     format_count(static_cast<double>(drops->tokens)), format_count(drops->hottest_tokens));
}

}  // namespace shardplan
