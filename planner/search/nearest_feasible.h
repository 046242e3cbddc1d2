// What would have to change when no plan was found: computed by trying, nearest change first.
//
// Memory: more GPUs (the fewest that hold it), FP8 weights, FP8 cache, a shorter context. Targets: the value that is
// reached, the traffic that is carried. Each line says which configuration then works.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "planner/plan.h"
#include "planner/search/rejections.h"

namespace shardplan {

// `fitting` is the number of configurations that fit memory; `refused` holds their misses.
[[nodiscard]] std::vector<std::string> nearest_feasible(const PlanRequest& request, std::int64_t fitting,
                                                        const RejectionTally& refused);

// The longest context of any legal configuration of the budget and where it is reached; 0 when weights do not fit.
struct MemoryReach {
  std::int64_t context = 0;
  ParallelConfig config;
  bool unsupported = false;  // no configuration can be lowered at all
};
[[nodiscard]] MemoryReach memory_reach(const PlanRequest& request);

}  // namespace shardplan
