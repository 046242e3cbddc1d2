// What "best" means: one row per objective.
//
// Every objective ranks deployments that meet the targets by a score (larger is better), then by fewer GPUs, then by
// lower TPOT. Throughput counts per GPU of the budget: a GPU left idle is not free. The ratio to used GPUs is what
// plans show; both agree where a plan uses the whole budget. Scores closer than 1e-6 are equal.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "planner/plan.h"

namespace shardplan {

struct ObjectiveRow {
  Objective objective;
  const char* name;
  const char* help;
  const char* goal;     // of a plan: "best throughput"
  bool most_requests;   // free concurrency: as many as the targets allow; otherwise one per instance
  bool fewer_replicas;  // also deployments that leave part of the budget unused
  double (*score)(const PlanRequest&, std::int64_t gpus, const ServingEstimate&);
};

[[nodiscard]] const std::vector<ObjectiveRow>& objectives();
[[nodiscard]] const ObjectiveRow& row_of(Objective objective);

// What ranks one deployment against another. Quantities are compared as whole millionths of their logarithm.
struct RankKey {
  double score = 0;
  std::int64_t score_rank = 0;
  std::int64_t gpus = 0;
  std::int64_t tpot_rank = 0;
  std::int64_t rate_rank = 0;   // output tokens/s of the whole deployment
  std::int64_t parts = 0;       // strategies used: of equals the simpler is better
};
// Degrees and variants that differ from one GPU's.
[[nodiscard]] std::int64_t strategies_used(const ParallelConfig& config);
[[nodiscard]] RankKey rank_key(double score, std::int64_t gpus, std::int64_t parts, const ServingEstimate& serving);
[[nodiscard]] RankKey rank_key(double score, const ParallelConfig& config, const ServingEstimate& serving);
// As good as can be in everything but these: for bounds.
[[nodiscard]] RankKey bound_key(double score, std::int64_t gpus, Seconds tpot);
// Strict weak order, best first: by score, then fewer GPUs, then lower TPOT, then more tokens/s, then simpler.
[[nodiscard]] bool ranks_before(const RankKey& a, const RankKey& b);

}  // namespace shardplan
