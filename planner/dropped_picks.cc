#include "planner/dropped_picks.h"

#include <fmt/format.h>

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
  return fmt::format("{:.2g} % of picks dropped: experts take {} of {} tokens, the most popular is asked for {}",
                     100 * drops->dropped_ratio, format_count(static_cast<double>(drops->capacity)),
                     format_count(static_cast<double>(drops->tokens)), format_count(drops->hottest_tokens));
}

}  // namespace shardplan
