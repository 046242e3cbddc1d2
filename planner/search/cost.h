// The cost of one table of placements at its pipeline depths: memory and serving.
//
// The table is lowered and compiled once. Each depth tries the device orders and chunk sizes that can matter and keeps
// the best setting. Nothing here depends on other tables, so tables are costed in parallel.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "planner/deployment.h"
#include "planner/objective.h"
#include "planner/search/rejections.h"
#include "planner/search/screen.h"

namespace shardplan {

// A configuration that fits and meets the targets, at its best setting.
struct Costed {
  ParallelConfig config;
  Setting setting;
  ServingEstimate serving;
  RankKey key;
};

struct TableCost {
  std::vector<Costed> found;
  RejectionTally refused;
  std::int64_t fitting = 0;
  std::int64_t priced = 0;
};

struct CostContext {
  const PlanRequest& request;
  const CollectivePricer& collectives;
  std::vector<std::int64_t> chunks;  // max_batched_tokens to try, the default first
};

[[nodiscard]] CostContext cost_context(const PlanRequest& request, const CollectivePricer& collectives);
// Depths whose bound does not rank before `bar` (if any) are refused as dominated without being costed.
[[nodiscard]] TableCost cost_table(const CostContext& context, const ScreenedTable& table,
                                   const std::optional<RankKey>& bar);

}  // namespace shardplan
