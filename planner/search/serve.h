// The traffic a deployment is judged at, and how it does there.
//
// Fixed traffic (concurrency or rate) goes to all replicas. Free traffic: as many requests as the targets, the cache
// and the seats allow, or one per instance, as the objective says. Replicas: all that the budget holds, never more
// than there are requests; with a rate, and for objectives that count GPUs, the fewest that meet the targets.
#pragma once

#include <optional>

#include "planner/deployment.h"
#include "planner/objective.h"
#include "planner/targets.h"

namespace shardplan {

struct Served {
  ServingEstimate serving;
  std::int64_t replicas = 1;
  std::optional<TargetMiss> miss;
  RankKey key;
};

// Precondition: the deployment's ledger fits. Leaves the chosen number of replicas in the deployment.
[[nodiscard]] Served serve(const PlanRequest& request, Deployment& deployment);

// Replicas of an instance of `instance_gpus` that the budget holds, or the fixed number; 0 when not even one fits.
[[nodiscard]] std::int64_t most_replicas(const PlanRequest& request, std::int64_t instance_gpus);

// The traffic of `request` with `per_instance` requests in every replica.
[[nodiscard]] Workload closed_workload(const PlanRequest& request, double per_instance, std::int64_t replicas);

}  // namespace shardplan
