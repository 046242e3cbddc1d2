// One configuration, legal or not: see planner/plan.h.
#include <fmt/format.h>

#include <algorithm>

#include "planner/cluster.h"
#include "planner/deployment.h"
#include "planner/dropped_picks.h"
#include "planner/notes.h"
#include "planner/speculation_gain.h"
#include "planner/steady_steps.h"
#include "planner/targets.h"

namespace shardplan {
namespace {

void price(const PlanRequest& request, Deployment& deployment, const BareSteps& bare, EstimateResult& out) {
  Plan& plan = out.plan;
  plan.serving = estimate_serving(deployment.serving_input(), request.workload);
  if (request.price.mode == PriceMode::kCalibrated) {
    plan.serving.spread = serving_spread(deployment.serving_input(), request.workload, plan.serving);
  }
  if (!bare.given) {
    add_speculation_gain(request, plan);
    add_dropped_picks(request, plan);
  }
  plan.meets_targets = plan.ledger.fits && !target_miss(plan.serving, request.targets);
  const std::int64_t drafts = plan.config.variant.speculative_tokens;
  const BatchShape decode = bare.given ? verifying(bare.decode, drafts) : steady_decode(request, plan);
  const BatchShape prefill = bare.given ? bare.prefill : steady_prefill(request, plan);
  if (decode.sequences() > 0) out.decode = deployment.pricer().breakdown(deployment.stages(), decode);
  if (prefill.sequences() > 0) out.prefill = deployment.pricer().breakdown(deployment.stages(), prefill);
}

}  // namespace

EstimateResult estimate_config(const PlanRequest& request, const ParallelConfig& config, const BareSteps& bare) {
  EstimateResult out;
  out.plan.config = config;
  out.notes = notes_of(request);
  out.violations = violations_of(request, config);
  if (!check_config(request.model, config).empty()) return out;  // no table of placements to price
  const Cluster cluster(request, config.instance_gpus());
  try {
    Deployment deployment(request, config, {}, cluster.collectives());
    out.plan = deployment.plan();
    out.lowered = true;
    price(request, deployment, bare, out);
  } catch (const LoweringRefusal& refusal) {
    out.violations.push_back({refusal.rule(), refusal.what()});
  }
  return out;
}

}  // namespace shardplan
