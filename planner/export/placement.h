// Where a replica's ranks lie on machines, and facts that exporters share.
#pragma once

#include <string>
#include <vector>

#include "planner/plan.h"

namespace shardplan {

enum class NodeSpread : std::uint8_t {
  kOneNode,
  kWholeGroups,  // several nodes, each with whole attention groups
  kNodes,        // several nodes, an attention group over more than one
};
[[nodiscard]] NodeSpread node_spread_of(const PlanRequest& request, const ParallelConfig& config);
[[nodiscard]] std::int64_t nodes_of(const PlanRequest& request, const ParallelConfig& config);
[[nodiscard]] std::int64_t gpus_per_node(const PlanRequest& request, const ParallelConfig& config);
// The checkpoint's name as published, or the catalog's.
[[nodiscard]] std::string checkpoint_of(const ModelSpec& model);
// bf16 weights that are made fp8 as they load: what --weight-dtype fp8 means to engines that can.
[[nodiscard]] bool quantises_on_load(const ModelSpec& model);
[[nodiscard]] std::string joined_counts(const std::vector<std::int64_t>& counts);  // "8,8,7"
// The sizes of the stages where they are not the engine's own; "" where they are.
[[nodiscard]] std::string own_split(const PlanRequest& request, const Plan& plan, const char* engine);
// "0.30" as a container tag: "0.30.0".
[[nodiscard]] std::string full_version(const std::string& version);
// What the fullest stage leaves for the cache of a rank.
[[nodiscard]] Bytes least_pool(const Plan& plan);
// What holds for every engine: replicas, nodes, checkpoint, targets.
[[nodiscard]] std::vector<std::string> common_notes(const PlanRequest& request, const Plan& plan, bool quantises);

inline constexpr std::int64_t kFirstPort = 8000;

}  // namespace shardplan
