#include "tools/tables/pools_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/table.h"
#include "tools/tables/numbers.h"

namespace shardplan {
namespace {

using Align = Table::Align;

std::string ranked(const PoolsResult& pools) {
  Table table({{"rank"}, {"prefill pool", Align::kLeft}, {"decode pool", Align::kLeft}, {"GPUs"}, {"in flight"}, {"TTFT ms"}, {"TPOT ms"},
               {"tok/s/GPU"}, {"tok/s/user"}, {"transfer ms"}, {"busier", Align::kLeft}});
  for (std::size_t i = 0; i < pools.plans.size(); ++i) {
    const PoolsPlan& plan = pools.plans[i];
    const ServingEstimate& s = plan.serving;
    table.add_row({std::to_string(i + 1), short_text(plan.prefill.plan.config), short_text(plan.decode.plan.config), whole(plan.gpus()),
                   short_number(s.concurrency), in_milliseconds(s.ttft), in_milliseconds(s.tpot), short_number(s.output_tokens_per_second_per_gpu),
                   short_number(s.tokens_per_second_per_user), in_milliseconds(plan.transfer),
                   fmt::format("{}, {} to {}", plan.limited_by(), in_percent(std::max(plan.prefill.busy_ratio, plan.decode.busy_ratio)),
                               in_percent(std::min(plan.prefill.busy_ratio, plan.decode.busy_ratio)))});
  }
  return table.text(2);
}

std::string verified(const PoolsResult& pools) {
  if (pools.plans.empty() || !pools.plans.front().simulated) return "";
  Table table({{"rank"}, {"before"}, {"TTFT ms"}, {"p99"}, {"TPOT ms"}, {"p99"}, {"tok/s/GPU"}, {"targets", Align::kLeft}});
  for (std::size_t i = 0; i < pools.plans.size() && pools.plans[i].simulated; ++i) {
    const SimulatedServing& s = *pools.plans[i].simulated;
    table.add_row({std::to_string(i + 1), std::to_string(s.rank_before), in_milliseconds(s.ttft), in_milliseconds(s.ttft_p99), in_milliseconds(s.tpot),
                   in_milliseconds(s.tpot_p99), short_number(s.output_tokens_per_second_per_gpu), s.meets_targets ? "met" : "missed"});
  }
  return "  Simulated, and ranked by it\n" + table.text(2);
}

std::string comparison(const PoolsResult& pools, const PlanResult& together) {
  if (pools.plans.empty() || together.plans.empty()) return "";
  const double apart = pools.plans.front().score;
  const double both = together.plans.front().score;
  const double gain = both > 0 ? apart / both - 1 : 0;
  if (std::abs(gain) < 0.0005) return "  As good as the best plan of one pool.\n";
  return fmt::format("  {:.1f} % {} than the best plan of one pool, by the objective.\n", std::abs(gain) * 100, gain > 0 ? "better" : "worse");
}

}  // namespace

std::string pools_table(const PoolsResult& pools, const PlanResult& together) {
  const std::string title = "\nPrompts and answers on pools of their own\n";
  if (pools.plans.empty()) return title + "  None: " + pools.refused + ".\n";
  return title + ranked(pools) + verified(pools) + comparison(pools, together);
}

}  // namespace shardplan
