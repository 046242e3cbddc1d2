// Every table of placements that a budget allows: the degrees of one stage with their variants.
//
// A table is a configuration with pp = replicas = 1; pipeline depths and replicas are put around it later, because the
// step graphs do not depend on them. Degrees: tp | query heads; dcp | tp (or pcp, pcp*tp with pcp > 1); the FFN's
// moe_dp x ep x moe_tp = dpa*pcp*tp in factors that nest with the attention's. Instance sizes are
// those that tile the machines or the budget (tiling.h).
#pragma once

#include <cstdint>
#include <vector>

#include "planner/plan.h"

namespace shardplan {

// In a fixed order, small degrees first; duplicates do not occur. Not yet checked for legality but for query heads.
[[nodiscard]] std::vector<ParallelConfig> enumerate_tables(const PlanRequest& request);

// Pipeline depths to try around a table of `ranks` ranks: those of 1..min(gpus/ranks, layers) that tile, or the fixed one.
[[nodiscard]] std::vector<std::int64_t> pipeline_depths(const PlanRequest& request, std::int64_t ranks);

}  // namespace shardplan
