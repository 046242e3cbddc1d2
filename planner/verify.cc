#include "planner/verify.h"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <cmath>

#include "planner/objective.h"
#include "planner/simulate.h"
#include "planner/targets.h"

namespace shardplan {
namespace {

constexpr double kLengthVariation = 0.1;
constexpr std::int64_t kFewestRequests = 200;
constexpr std::int64_t kMostRequests = 5000;
constexpr std::int64_t kWaves = 4;  // requests for each that is in flight

std::int64_t requests_of(double in_flight) {
  return std::clamp(kWaves * static_cast<std::int64_t>(std::ceil(in_flight)), kFewestRequests, kMostRequests);
}

// What the closed form would say if it had seen the run.
ServingEstimate serving_of(const Plan& plan, const SimulationResult& r) {
  ServingEstimate out = plan.serving;
  out.ttft = r.ttft.mean;
  out.tpot = r.tpot.mean;
  out.e2e = r.e2e.mean;
  out.output_tokens_per_second = r.output_tokens_per_second;
  out.output_tokens_per_second_per_gpu = r.output_tokens_per_second / static_cast<double>(plan.config.gpus());
  out.tokens_per_second_per_user = r.tpot.mean.value() > 0 ? 1 / r.tpot.mean.value() : 0;
  return out;
}

void simulate_plan(const PlanRequest& question, std::size_t rank, Plan& plan) {
  PlanRequest request = question;
  request.max_batched_tokens = plan.max_batched_tokens;
  Workload& w = request.workload;
  if (!w.requests_per_second) w.concurrency = std::max<std::int64_t>(1, std::llround(plan.serving.concurrency));
  const SimulatedTraffic traffic{.requests = requests_of(plan.serving.concurrency),
                                 .length_cv_ratio = kLengthVariation};
  const SimulatedPool pool(request, plan.config, {}, {.router = "least_requests"}, plan.order);
  const SimulationResult r = simulate_pool(request, pool, traffic, {});
  const ServingEstimate serving = serving_of(plan, r);
  plan.simulated = SimulatedServing{.rank_before = static_cast<std::int64_t>(rank + 1),
                                    .ttft = r.ttft.mean,
                                    .ttft_p99 = r.ttft.p99,
                                    .tpot = r.tpot.mean,
                                    .tpot_p99 = r.tpot.p99,
                                    .e2e = r.e2e.mean,
                                    .output_tokens_per_second = serving.output_tokens_per_second,
                                    .output_tokens_per_second_per_gpu = serving.output_tokens_per_second_per_gpu,
                                    .preempted = r.requests.preempted,
                                    .rejected = r.requests.rejected,
                                    .score = row_of(request.objective).score(request, plan.config, serving)};
  plan.simulated->meets_targets = r.requests.rejected == 0 && !target_miss(serving, request.targets);
}

bool better(const Plan& a, const Plan& b) {
  const auto key = [](const Plan& p) {
    ServingEstimate serving = p.serving;
    serving.tpot = p.simulated->tpot;
    serving.output_tokens_per_second = p.simulated->output_tokens_per_second;
    return rank_key(p.simulated->score, p.config, serving);
  };
  if (a.simulated->meets_targets != b.simulated->meets_targets) return a.simulated->meets_targets;
  return ranks_before(key(a), key(b));
}

}  // namespace

void verify_plans(const PlanRequest& request, std::size_t count, std::vector<Plan>& plans) {
  const std::size_t most = std::min(count, plans.size());
  tbb::parallel_for(std::size_t{0}, most, [&](std::size_t i) { simulate_plan(request, i, plans[i]); });
  std::stable_sort(plans.begin(), plans.begin() + static_cast<std::ptrdiff_t>(most), better);
}

}  // namespace shardplan
