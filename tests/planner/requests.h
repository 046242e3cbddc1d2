// Requests that several tests ask.
#pragma once

#include <string>

#include "planner/plan.h"

namespace shardplan {

struct Ask {
  const char* model = "llama-3.1-8b";
  const char* hardware = "h200-sxm";
  std::int64_t gpus = 8;
  const char* engine = "";
  std::int64_t isl = 1024;
  std::int64_t osl = 256;
  std::int64_t concurrency = 0;  // 0: free
  double tpot_ms = 0;            // 0: no target
  double ttft_ms = 0;
};

[[nodiscard]] PlanRequest request_for(const Ask& ask);
// Degrees by name, for tests that read as tables.
[[nodiscard]] ParallelConfig degrees(std::int64_t tp, std::int64_t pp = 1, std::int64_t dpa = 1, std::int64_t dcp = 1);
// A MoE's: experts whole (`ep`), or sliced over the stage.
[[nodiscard]] ParallelConfig moe_degrees(std::int64_t tp, std::int64_t dpa, bool ep);
// A request that fixes the degrees of `config` by name.
void fix(PlanRequest& request, const ParallelConfig& config, std::vector<std::string> names);

}  // namespace shardplan
