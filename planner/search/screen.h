// What is decided about a table before it is lowered: legality at each pipeline depth, weights against memory, and the
// best that each depth could reach.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "planner/search/bound.h"
#include "planner/search/rejections.h"

namespace shardplan {

struct ScreenedDepth {
  ParallelConfig config;  // with its pipeline depth and most replicas
  RankKey bound;
};

struct ScreenedTable {
  ParallelConfig table;
  std::vector<ScreenedDepth> depths;  // legal, not too heavy, not hopeless
  RankKey bound;                      // the best of them
  RejectionTally refused;
  std::int64_t considered = 0;
  std::int64_t legal = 0;
};

struct ScreenContext {
  const PlanRequest& request;
  const RequestBound& bound;
  WeightParts weights;
};

[[nodiscard]] ScreenedTable screen_table(const ScreenContext& context, const ParallelConfig& table);

}  // namespace shardplan
