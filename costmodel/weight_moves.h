// Which weights change ranks when a layer is placed anew on another number of ranks: elastic expert parallelism.
//
// Both graphs are of the same layer under two configurations whose ranks are numbered alike: rank r of the one is rank
// r of the other. A rank lacks the part of a tensor that it holds under the second and not under the first; a rank that
// is new lacks all of its. Per tensor that is the product over dimensions of held indices, so that nothing here knows a
// strategy. Experts with copies lie where EPLB puts them for the expert load; a rank that holds any copy has the
// expert.
#pragma once

#include <cstdint>
#include <vector>

#include "costmodel/expert_load.h"
#include "costmodel/lowered_model.h"
#include "costmodel/parallel_config.h"
#include "costmodel/step_graph.h"

namespace shardplan {

struct LackedBytes {
  double experts = 0;
  double others = 0;  // attention, norms, routers, dense and shared FFNs, tables
};

struct PlacedGraph {
  const StepGraph& graph;
  const ParallelConfig& config;
};

// By rank of `after`. `load` places copies of experts. Tables of the vocabulary count where `with_tables`.
[[nodiscard]] std::vector<LackedBytes> lacked_bytes(const PlacedGraph& before, const PlacedGraph& after,
                                                    const ExpertLoad& load, bool with_tables = true);

}  // namespace shardplan
