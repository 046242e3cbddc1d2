#include "planner/search/serve.h"

#include <algorithm>
#include <cmath>

#include "planner/search/fixed.h"
#include "planner/search/tiling.h"

namespace shardplan {
namespace {

bool is_free(const Workload& w) { return !w.concurrency && !w.requests_per_second; }

Served judge(const PlanRequest& request, Deployment& deployment, const Workload& workload, std::int64_t replicas) {
  deployment.use_replicas(replicas);
  Served out;
  out.replicas = replicas;
  out.serving = estimate_serving(deployment.serving_input(), workload);
  if (request.targets.deviations > 0) out.serving.spread = serving_spread(deployment.serving_input(), workload, out.serving);
  out.miss = target_miss(out.serving, request.targets);
  out.key = rank_key(row_of(request.objective).score(request, deployment.config().gpus(), out.serving), deployment.config(),
                     out.serving);
  return out;
}

Served serve_free(const PlanRequest& request, Deployment& deployment, std::int64_t replicas) {
  deployment.use_replicas(replicas);
  double requests = 1;
  if (row_of(request.objective).most_requests) {
    requests = std::max(1.0, best_concurrency(deployment.serving_input(), request.workload, request.targets));
  }
  return judge(request, deployment, closed_workload(request, requests, replicas), replicas);
}

// Fewest replicas in 1..most that meet the targets: more replicas never make any of them slower.
Served serve_fewest(const PlanRequest& request, Deployment& deployment, std::int64_t most) {
  Served best = judge(request, deployment, request.workload, most);
  std::int64_t low = 1, high = most;
  while (!best.miss && low < high) {
    const std::int64_t middle = low + (high - low) / 2;
    Served tried = judge(request, deployment, request.workload, middle);
    if (tried.miss) {
      low = middle + 1;
    } else {
      high = middle;
      best = std::move(tried);
    }
  }
  deployment.use_replicas(best.replicas);
  return best;
}

}  // namespace

std::int64_t most_replicas(const PlanRequest& request, std::int64_t instance_gpus) {
  const std::int64_t room = instances_that_fit(request, instance_gpus);
  if (!is_fixed(request, "replicas")) return room;
  return request.fixed.replicas <= room ? request.fixed.replicas : 0;
}

Workload closed_workload(const PlanRequest& request, double per_instance, std::int64_t replicas) {
  Workload workload = request.workload;
  workload.requests_per_second.reset();
  workload.concurrency = static_cast<std::int64_t>(std::llround(std::max(1.0, per_instance))) * replicas;
  return workload;
}

Served serve(const PlanRequest& request, Deployment& deployment) {
  const Workload& w = request.workload;
  std::int64_t most = std::max<std::int64_t>(1, most_replicas(request, deployment.config().instance_gpus()));
  if (w.concurrency) most = std::min(most, std::max<std::int64_t>(1, *w.concurrency));
  const bool fewest =
      (row_of(request.objective).fewer_replicas || w.requests_per_second) && !is_fixed(request, "replicas");
  if (is_free(w))
    return serve_free(request, deployment,
                      row_of(request.objective).objective == Objective::kGpus && fewest ? 1 : most);
  return fewest ? serve_fewest(request, deployment, most) : judge(request, deployment, w, most);
}

}  // namespace shardplan
