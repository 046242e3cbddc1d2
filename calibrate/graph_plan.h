// What of a node's execution follows from the graph and the batch alone, worked out once for all ranks.
#pragma once

#include <vector>

#include "calibrate/layouts.h"
#include "calibrate/transfer.h"
#include "costmodel/step_graph.h"

namespace shardplan {

// Rows of a cache that a step writes on one rank, and those that were there.
struct AppendPlan {
  std::vector<LocalDims> kept;   // by cache of the node
  std::vector<LocalDims> old;
};

struct NodePlan {
  Transfer values;   // of the shard collectives and exchanges
  Transfer lse;      // of the log-sum-exp beside them, if any
  std::vector<AppendPlan> appends;   // [rank]: of a cache's node
};

struct GraphPlan {
  GraphPlan(const StepGraph& step_graph, const RaggedBatch& step_batch);

  const StepGraph& graph;
  const RaggedBatch& batch;
  Layouts layouts;
  std::vector<NodePlan> nodes;
  std::vector<std::size_t> last_reader;        // of each value the last node that reads it; of the residual stream none
  std::vector<std::vector<ValueId>> dead_after; // [node]
};

}  // namespace shardplan
