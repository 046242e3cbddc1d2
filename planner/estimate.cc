// One configuration, legal or not: see planner/plan.h.
#include <fmt/format.h>

#include <algorithm>

#include "planner/cluster.h"
#include "planner/deployment.h"
#include "planner/notes.h"
#include "planner/speculation_gain.h"
#include "planner/targets.h"

namespace shardplan {
namespace {

// The decode step of the steady state: running sequences of one batch in flight, half of their output written.
BatchShape steady_decode(const PlanRequest& request, const Plan& plan) {
  BatchShape shape;
  const double running = std::max(1.0, plan.serving.running);
  shape.decode_sequences = std::max<std::int64_t>(1, static_cast<std::int64_t>(running) / plan.config.pp);
  shape.decode_context = static_cast<double>(request.workload.isl) + static_cast<double>(request.workload.osl) / 2;
  return verifying(shape, plan.config.variant.speculative_tokens);
}

// One prompt in every attention group, as much of it as a step takes.
BatchShape steady_prefill(const PlanRequest& request, const Plan& plan) {
  BatchShape shape;
  shape.prefill_sequences = plan.config.dpa;
  shape.prefill_tokens =
      std::max<std::int64_t>(1, std::min(request.workload.isl - request.workload.prefix, plan.max_batched_tokens));
  shape.prefill_prefix = static_cast<double>(request.workload.prefix);
  return shape;
}

void price(const PlanRequest& request, Deployment& deployment, const BareSteps& bare, EstimateResult& out) {
  Plan& plan = out.plan;
  plan.serving = estimate_serving(deployment.serving_input(), request.workload);
  if (request.price.mode == PriceMode::kCalibrated) {
    plan.serving.spread = serving_spread(deployment.serving_input(), request.workload, plan.serving);
  }
  if (!bare.given) add_speculation_gain(request, plan);
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
