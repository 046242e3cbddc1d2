// Whether a serving estimate meets the latency targets, and by how much it misses.
#pragma once

#include <optional>
#include <string>

#include "planner/serving.h"
#include "planner/workload.h"

namespace shardplan {

struct TargetMiss {
  std::string rule;         // "traffic", "ttft", "tpot", "e2e"
  std::string message;      // one sentence with both numbers
  double excess_ratio = 0;  // value/target - 1
};

// The target missed most, or nothing. An estimate that is not feasible misses "traffic".
[[nodiscard]] std::optional<TargetMiss> target_miss(const ServingEstimate& serving, const Targets& targets);

}  // namespace shardplan
