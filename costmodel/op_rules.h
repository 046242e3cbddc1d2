// What each operation permits: from how its inputs are placed to how it needs them and how its outputs come out.
//
// This is all that knows an operation's algebra: a sharded contraction gives Partial(sum), attention over sharded
// positions gives Partial(lse), norms need their dimension whole. Where a rule leaves a choice it keeps what is there,
// and settles partial values as the residual stream lies.
#pragma once

#include <vector>

#include "costmodel/logical_graph.h"
#include "costmodel/strategy.h"

namespace shardplan {

struct RuleInput {
  const LogicalGraph& graph;
  const LogicalOp& op;
  const Strategy& strategy;
  std::vector<Placement> have;      // of op.inputs
  std::vector<Placement> weights;   // of op.weights
};

struct RuleResult {
  std::vector<Placement> need;      // of op.inputs
  std::vector<Placement> out;       // of op.outputs
};

// Throws LoweringRefusal where the algebra has no answer (a query head without its KV head).
[[nodiscard]] RuleResult op_rule(const RuleInput& input);

// Outer splits by request of a ragged dimension.
[[nodiscard]] ShardList request_run(const Placement& placement, Dim dim);

}  // namespace shardplan
