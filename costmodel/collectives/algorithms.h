// The rows of the registry: each algorithm's file defines its own. A new algorithm is a new file, a line here and a
// line in collective.cc.
#pragma once

#include "costmodel/collectives/collective.h"

namespace shardplan {

[[nodiscard]] CollectiveAlgorithm ring_algorithm();
[[nodiscard]] CollectiveAlgorithm tree_algorithm();
[[nodiscard]] CollectiveAlgorithm nvls_algorithm();
[[nodiscard]] CollectiveAlgorithm one_shot_algorithm();
[[nodiscard]] CollectiveAlgorithm two_shot_algorithm();
[[nodiscard]] CollectiveAlgorithm hierarchical_algorithm();
[[nodiscard]] CollectiveAlgorithm pairwise_algorithm();
[[nodiscard]] CollectiveAlgorithm hierarchical_all_to_all_algorithm();
[[nodiscard]] CollectiveAlgorithm p2p_algorithm();

}  // namespace shardplan
