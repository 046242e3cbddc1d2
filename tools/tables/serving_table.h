// The predicted steady state in a few lines.
#pragma once

#include <string>

#include "planner/serving.h"
#include "planner/workload.h"

namespace shardplan {

[[nodiscard]] std::string serving_table(const ServingEstimate& serving, const Workload& workload, std::int64_t replicas);

// "tpot 40.0 ms: no (52.3 ms)" for each target given; empty without targets.
[[nodiscard]] std::string targets_line(const ServingEstimate& serving, const Targets& targets);

}  // namespace shardplan
