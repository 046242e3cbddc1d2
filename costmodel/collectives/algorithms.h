// The rows of the registry: each algorithm's file defines its own. A new algorithm is a new file, a line here and a
// line in collective.cc.
#pragma once

#include "costmodel/collectives/collective.h"

namespace shardplan {

[[nodiscard]] CollectiveAlgorithm ring_algorithm();
[[nodiscard]] CollectiveAlgorithm tree_algorithm();
[[nodiscard]] CollectiveAlgorithm nvls_algorithm();
[[nodiscard]] CollectiveAlgorithm one_shot_algorithm();
// Kernels that move tokens to their experts and back. They apply where the kind is kDispatch or kCombine.
[[nodiscard]] CollectiveAlgorithm ep_normal_algorithm();
[[nodiscard]] CollectiveAlgorithm ep_low_latency_algorithm();
[[nodiscard]] bool has_expert_kernels(CollectiveKind kind, const GroupLinks& links, const HardwareProfile& profile);
// Bytes of a rank's tokens that cross to other domains, one copy for each domain with one of a token's experts.
[[nodiscard]] double domain_copies(const CollectiveRequest& request, const GroupLinks& links);
[[nodiscard]] CollectiveAlgorithm two_shot_algorithm();
[[nodiscard]] CollectiveAlgorithm symmetric_algorithm();
[[nodiscard]] CollectiveAlgorithm hierarchical_algorithm();
[[nodiscard]] CollectiveAlgorithm pairwise_algorithm();
[[nodiscard]] CollectiveAlgorithm hierarchical_all_to_all_algorithm();
[[nodiscard]] CollectiveAlgorithm p2p_algorithm();

}  // namespace shardplan
