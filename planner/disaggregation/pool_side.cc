#include "planner/disaggregation/pool_side.h"

#include <algorithm>

namespace shardplan {
namespace {

constexpr std::int64_t kKept = 4;      // instances of one size
constexpr double kClearlyLess = 0.85;  // of the best rate for each GPU

PlanRequest side_of(const PlanRequest& request) {
  PlanRequest side = request;
  side.workload.concurrency.reset();
  side.workload.requests_per_second.reset();
  side.max_model_len = context_of(request);
  side.targets = {};
  if (side.objective == Objective::kGpus) side.objective = Objective::kThroughput;   // of one instance: the fewest are those that do most
  side.pareto = false;
  side.explain_empty = false;
  return side;
}

std::vector<std::int64_t> instance_sizes(std::int64_t gpus) {
  std::vector<std::int64_t> sizes;
  for (std::int64_t size = 1; size < gpus; size *= 2) sizes.push_back(size);
  return sizes;
}

std::vector<PoolCandidate> instances_of(const PlanRequest& side, std::int64_t gpus) {
  PlanRequest one = side;
  one.gpus = gpus;
  one.top = kKept;
  one.fixed.replicas = 1;
  one.fixed_names.emplace_back("replicas");
  std::vector<PoolCandidate> out;
  for (Plan& plan : search_plans(one).plans) {
    const double rate = plan.serving.requests_per_second;
    out.push_back({std::move(plan), rate});
  }
  return out;
}

}  // namespace

PlanRequest prefill_request(const PlanRequest& request) {
  PlanRequest side = side_of(request);
  side.role = PoolRole::kPrefill;
  side.workload.osl = 1;
  side.targets.ttft = request.targets.ttft;
  return side;
}

PlanRequest decode_request(const PlanRequest& request) {
  PlanRequest side = side_of(request);
  side.role = PoolRole::kDecode;
  side.workload.prefix = request.workload.isl - 1;
  side.targets.tpot = request.targets.tpot;
  return side;
}

std::vector<PoolCandidate> pool_candidates(const PlanRequest& side) {
  std::vector<PoolCandidate> out;
  double best = 0;  // requests/s for each GPU
  int worse = 0;    // sizes in a row
  for (const std::int64_t gpus : instance_sizes(side.gpus)) {
    std::vector<PoolCandidate> found = instances_of(side, gpus);
    double here = 0;
    for (PoolCandidate& candidate : found) {
      here = std::max(here, candidate.requests_per_second / static_cast<double>(candidate.plan.config.gpus()));
      out.push_back(std::move(candidate));
    }
    if (best > 0) worse = here < kClearlyLess * best ? worse + 1 : 0;
    best = std::max(best, here);
    if (worse >= 2) break;
  }
  return out;
}

PoolSide::PoolSide(PlanRequest side, const Plan& plan, std::int64_t instances)
    : request_(std::move(side)),
      cluster_(request_, plan.config.instance_gpus()),
      deployment_(request_, plan.config, {plan.order, plan.max_batched_tokens}, cluster_.collectives()) {
  deployment_.use_replicas(instances);
  const ServingInput input = deployment_.serving_input();
  const RunningLimit limit = running_limit(input, request_.workload);
  if (limit.requests >= 1)
    most_ =
        static_cast<double>(instances) * estimate_closed(input, request_.workload, limit.requests).requests_per_second;
}

ServingEstimate PoolSide::at(double rate) {
  request_.workload.requests_per_second = rate;
  const ServingEstimate out = estimate_serving(deployment_.serving_input(), request_.workload);
  request_.workload.requests_per_second.reset();
  return out;
}

}  // namespace shardplan
