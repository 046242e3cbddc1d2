#include "planner/steady_steps.h"

#include <algorithm>

namespace shardplan {

BatchShape steady_decode(const PlanRequest& request, const Plan& plan) {
  BatchShape shape;
  const double running = std::max(1.0, plan.serving.running);
  shape.decode_sequences = std::max<std::int64_t>(1, static_cast<std::int64_t>(running) / plan.config.pp);
  shape.decode_context = static_cast<double>(request.workload.isl) + static_cast<double>(request.workload.osl) / 2;
  return verifying(shape, plan.config.variant.speculative_tokens);
}

BatchShape steady_prefill(const PlanRequest& request, const Plan& plan) {
  BatchShape shape;
  shape.prefill_sequences = plan.config.dpa;
  shape.prefill_tokens =
      std::max<std::int64_t>(1, std::min(request.workload.isl - request.workload.prefix, plan.max_batched_tokens));
  shape.prefill_prefix = static_cast<double>(request.workload.prefix);
  return shape;
}

}  // namespace shardplan
