#include "planner/speculation_gain.h"

#include <fmt/format.h>

#include "base/units.h"
#include "costmodel/speculation.h"
#include "planner/cluster.h"
#include "planner/deployment.h"

namespace shardplan {

void add_speculation_gain(const PlanRequest& request, Plan& plan) {
  const std::int64_t drafts = plan.config.variant.speculative_tokens;
  if (drafts == 0 || !plan.serving.feasible) return;
  ParallelConfig plain = plan.config;
  plain.variant.speculative_tokens = 0;
  plain.pp_layers = plan.layer_split;
  const Cluster cluster(request, plain.instance_gpus());
  Deployment deployment(request, plain, {plan.order, plan.max_batched_tokens}, cluster.collectives());
  const ServingEstimate without = estimate_closed(deployment.serving_input(), request.workload, plan.serving.running);
  if (!without.feasible) return;
  SpeculationGain gain{.tokens_per_step = tokens_per_step(drafts, request.workload.acceptance_ratio),
                       .plain_tpot = without.tpot};
  gain.step_ratio = plan.serving.decode_step / without.decode_step;
  gain.break_even_acceptance = break_even_acceptance(drafts, gain.step_ratio);
  plan.serving.speculation = gain;
}

std::string speculation_text(const ServingEstimate& serving) {
  const SpeculationGain& gain = *serving.speculation;
  const std::string pays = gain.break_even_acceptance
                               ? fmt::format("a step pays from an acceptance of {:.2f} on", *gain.break_even_acceptance)
                               : "a step does not pay at any acceptance";
  return fmt::format("{:.2f} tokens per step of {:.2f} plain steps: TPOT {}, without drafts {}; {}",
                     gain.tokens_per_step, gain.step_ratio, format_seconds(serving.tpot),
                     format_seconds(gain.plain_tpot), pays);
}

}  // namespace shardplan
