// Which of a search's plans is launched, and writing its files (--export).
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "planner/disaggregation/pools.h"
#include "planner/export/launch.h"
#include "planner/plan.h"

namespace shardplan {

struct ChosenLaunch {
  std::size_t rank = 1;   // of the plan, from 1
  Launch launch;          // refused: no plan can be run, and this is why the best one cannot
  std::string best_refused;  // why the best plan cannot be run, when a later one is launched
};

// The best plan that the request's engine (vLLM without one) can run; nullopt without plans.
[[nodiscard]] std::optional<ChosenLaunch> choose_launch(const PlanRequest& request, const PlanResult& result);

// The same of pairs of pools.
struct ChosenPools {
  std::size_t rank = 1;
  Launch prefill, decode;    // either refused: no pair can be run, and this is why the best one cannot
  [[nodiscard]] const std::string& refused() const { return prefill.refused.empty() ? decode.refused : prefill.refused; }
};
[[nodiscard]] std::optional<ChosenPools> choose_pools(const PlanRequest& request, const PoolsResult& result);

// Writes the files into `folder`, which is made if need be. InputError when it cannot be written.
void write_launch_files(const Launch& launch, const std::string& folder);

}  // namespace shardplan
