#include "tools/tables/pools_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/table.h"
#include "tools/tables/numbers.h"
#include "tools/tables/verified_table.h"

namespace shardplan {
namespace {

using Align = Table::Align;

std::string ranked(const PoolsResult& pools) {
  Table table({{"rank"},
               {"prefill pool", Align::kLeft},
               {"decode pool", Align::kLeft},
               {"GPUs"},
               {"in flight"},
               {"step tokens"},
               {"TTFT ms"},
               {"TPOT ms"},
               {"tok/s/GPU"},
               {"tok/s/user"},
               {"transfer ms"},
               {"busier", Align::kLeft}});
  for (std::size_t i = 0; i < pools.plans.size(); ++i) {
    const PoolsPlan& plan = pools.plans[i];
    const ServingEstimate& s = plan.serving;
    table.add_row({std::to_string(i + 1), short_text(plan.prefill.plan.config), short_text(plan.decode.plan.config),
                   whole(plan.gpus()), short_number(s.concurrency),
                   whole(plan.prefill.plan.max_batched_tokens) + " | " + whole(plan.decode.plan.max_batched_tokens),
                   in_milliseconds(s.ttft), in_milliseconds(s.tpot), short_number(s.output_tokens_per_second_per_gpu),
                   short_number(s.tokens_per_second_per_user), in_milliseconds(plan.transfer),
                   fmt::format("{}, {} to {}", plan.limited_by(),
                               in_percent(std::max(plan.prefill.busy_ratio, plan.decode.busy_ratio)),
                               in_percent(std::min(plan.prefill.busy_ratio, plan.decode.busy_ratio)))});
  }
  return table.text(2);
}

std::string verified(const PoolsResult& pools) {
  return verified_table(verified_rows(pools.plans, [](const PoolsPlan& plan) {
    return short_text(plan.prefill.plan.config) + " | " + short_text(plan.decode.plan.config);
  }));
}

// Simulated plans are compared by what the simulation says, others by the closed form: never one with the other.
std::string comparison(const PoolsResult& pools, const PlanResult& together) {
  if (pools.plans.empty() || together.plans.empty()) return "";
  const PoolsPlan& apart = pools.plans.front();
  const Plan& both = together.plans.front();
  const bool simulated = apart.simulated && both.simulated;
  if (simulated && apart.simulated->meets_targets != both.simulated->meets_targets) {
    const char* const these = "the first of these";
    const char* const one = "the best plan of one pool";
    const bool meets = apart.simulated->meets_targets;
    return fmt::format("  Simulated, {} meets the targets and {} does not.\n", meets ? these : one,
                       meets ? one : these);
  }
  const double score = simulated ? apart.simulated->score : apart.score;
  const double other = simulated ? both.simulated->score : both.score;
  const double gain = other > 0 ? score / other - 1 : 0;
  const std::string by = simulated ? "simulated, by the objective" : "by the objective";
  if (std::abs(gain) < 0.0005) return fmt::format("  As good as the best plan of one pool, {}.\n", by);
  return fmt::format("  {:.1f} % {} than the best plan of one pool, {}.\n", std::abs(gain) * 100,
                     gain > 0 ? "better" : "worse", by);
}

}  // namespace

std::string pools_table(const PoolsResult& pools, const PlanResult& together) {
  const std::string title = "\nPrompts and answers on pools of their own\n";
  if (pools.plans.empty()) return title + "  None: " + pools.refused + ".\n";
  return title + ranked(pools) + verified(pools) + comparison(pools, together);
}

}  // namespace shardplan
