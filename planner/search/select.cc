#include "planner/search/select.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/short_number.h"
#include "planner/targets.h"

namespace shardplan {
namespace {

// What the objective ranks by, in words.
std::string score_text(const PlanRequest& request, const Costed& c) {
  switch (request.objective) {
    case Objective::kInteractivity:
      return fmt::format("{:.1f} tokens/s per user", c.serving.tokens_per_second_per_user);
    case Objective::kLatency:
      return fmt::format("{:.2f} s per request", c.serving.e2e.value());
    case Objective::kGpus:
      return fmt::format("{} GPUs", c.config.gpus());
    default:
      return short_number(c.serving.output_tokens_per_second_per_gpu) + " tokens/s/GPU";
  }
}

void tally_dominated(const PlanRequest& request, const Costed& winner, const Costed& loser, RejectionTally& refused) {
  const double behind = loser.key.score > 0 ? winner.key.score / loser.key.score - 1 : 1e9;
  refused.add(loser.config, "dominated", behind, [&]() -> Refusal {
    return {fmt::format("{} at best ({}); the winner has {}", score_text(request, loser), short_text(loser.config),
                        score_text(request, winner)),
            ""};
  });
}

}  // namespace

void rank(std::vector<Costed>& found) {
  std::stable_sort(found.begin(), found.end(),
                   [](const Costed& a, const Costed& b) { return ranks_before(a.key, b.key); });
}

std::vector<Costed> keep_best(const PlanRequest& request, const std::vector<Costed>& ranked, RejectionTally& refused) {
  std::vector<Costed> kept;
  for (const Costed& c : ranked) {
    const bool full = static_cast<std::int64_t>(kept.size()) >= std::max<std::int64_t>(1, request.top);
    if (full) {
      tally_dominated(request, kept.front(), c, refused);
      continue;
    }
    const double per_gpu = c.serving.output_tokens_per_second_per_gpu;
    if (request.objective == Objective::kThroughput && !kept.empty() &&
        per_gpu > kept.back().serving.output_tokens_per_second_per_gpu * (1 + 1e-6)) {
      refused.add(c.config, "idle_gpus", 0, [&]() -> Refusal {
        return {fmt::format("{} of {} GPUs reach {} tokens/s ({} per used GPU); the winner has {} tokens/s",
                            c.config.gpus(), request.gpus, short_number(c.serving.output_tokens_per_second),
                            short_number(per_gpu), short_number(kept.front().serving.output_tokens_per_second)),
                "--objective cost ranks by used GPUs"};
      });
      continue;
    }
    kept.push_back(c);
  }
  return kept;
}

Plan make_plan(const PlanRequest& request, const Costed& costed, const CollectivePricer& collectives) {
  Deployment deployment(request, costed.config, costed.setting, collectives);
  Plan plan = deployment.plan();
  plan.serving = costed.serving;
  if (request.price.mode == PriceMode::kCalibrated) {
    plan.serving.spread = serving_spread(deployment.serving_input(), request.workload, plan.serving);
  }
  plan.score = costed.key.score;
  plan.meets_targets = !target_miss(plan.serving, request.targets);
  return plan;
}

}  // namespace shardplan
