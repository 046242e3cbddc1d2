// Expert placement with redundant copies (EPLB): replicate the heaviest, then pack onto ranks.
//
// Two steps: each spare slot goes to the expert with the largest load/replicas; then replicas are placed from the
// heaviest down on the least loaded rank with a free slot. The hierarchical form first packs routing groups onto
// nodes. Ties: lower index first. Arithmetic in float32, as the published algorithm (deepseek-ai/EPLB).
#pragma once

#include <cstdint>
#include <vector>

namespace shardplan {

struct EplbRequest {
  std::vector<double> loads;        // per logical expert
  std::int64_t slots = 0;           // physical experts over all ranks (>= loads.size(), divisible by ranks)
  std::int64_t ranks = 1;
  std::int64_t groups = 1;          // routing groups
  std::int64_t nodes = 1;
};

struct EplbPlacement {
  std::vector<std::int64_t> slot_expert;            // physical slot -> logical expert, slots of rank 0 first
  std::vector<std::int64_t> replicas;               // per logical expert
  std::vector<std::vector<std::int64_t>> expert_slots;  // logical -> its slots by replica number
  std::vector<double> rank_load;                    // load per rank with replicas sharing evenly
};

// Hierarchical when groups % nodes == 0, else global (also where groups do not divide the experts or nodes the
// ranks, which the published code refuses). The caller guarantees slots % ranks == 0.
[[nodiscard]] EplbPlacement place_experts(const EplbRequest& request);

}  // namespace shardplan
