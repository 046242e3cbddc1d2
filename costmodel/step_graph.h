// The step graph: the operations one rank runs in one forward pass over a graph's layers, with the placements of
// every value, and the collectives between them. The same on every rank of a stage (SPMD).
//
// Nodes name their values with placements, so that a reader needs nothing else: the ledger sums bytes held, the
// pricer times nodes, the executor runs them, reports print them. No reader knows a strategy.
#pragma once

#include <cstdint>
#include <vector>

#include "costmodel/logical_graph.h"
#include "costmodel/mesh.h"
#include "costmodel/parallel_config.h"
#include "costmodel/placement.h"

namespace shardplan {

using ValueId = std::int32_t;
using ValueList = InlineVector<ValueId, 6>;

struct Value {
  TensorId tensor = -1;
  Placement placement;
  bool streamed = false;   // never held whole (ring): two blocks instead
};

enum class NodeKind : std::uint8_t {
  kCompute,        // the logical op `op` on local shards
  kSlice,          // Replicate -> Shard, no message
  kAllGather,      // Shard -> Replicate over `group`
  kReduceScatter,  // Partial(sum) -> Shard
  kAllReduce,      // Partial(sum) -> Replicate
  kAllToAll,       // Shard(a) -> Shard(b), or another layout of a
  kLseGather,      // all-gather of LSE and local scaling: Partial(lse) -> Partial(sum)
  kLseExchange,    // one all-to-all of O and LSE, merged locally: Partial(lse) -> Shard(heads)
  kDispatch,       // tokens (and their routing) to the ranks that hold their experts
  kCombine,        // partial expert outputs back to the tokens' ranks, added
  kRingAttention,  // all-gather of K and V and attention, pipelined block by block
  kSend,           // to the same rank of the next stage
};
[[nodiscard]] const char* node_kind_name(NodeKind kind);

struct Node {
  NodeKind kind = NodeKind::kCompute;
  std::int32_t op = -1;           // index into LogicalGraph::ops: what it computes, or serves
  ValueList inputs;    // kCompute: as the op's inputs; kDispatch: (x, routing); kRingAttention: (q, k, v[, prefix k, prefix v])
  ValueList weights;
  ValueList outputs;   // kDispatch: (x, routing); kRingAttention: (o, k gathered, v gathered)
  DigitSet group;                 // of a communicating node
  ValueList biases{};             // as the op's; -1: none
};

struct StepGraph {
  LogicalGraph logical;
  Mesh mesh;
  StepForm form = StepForm::kDecode;
  std::int64_t cp_interleave = 1;     // of kStriped cache positions
  Overlap overlap = Overlap::kNone;   // of dispatch, experts and combine
  std::int64_t overlap_parts = 1;     // parts the experts' tokens are cut into
  std::int64_t hop_b = 1;             // batch parts whose LSE exchange hides behind attention
  std::vector<Value> values;
  std::vector<Node> nodes;            // in execution order
  ValueId residual_in = -1;
  ValueId residual_out = -1;

  [[nodiscard]] const Value& value(ValueId id) const { return values[static_cast<std::size_t>(id)]; }
  [[nodiscard]] const Tensor& tensor_of(ValueId id) const { return logical.tensor(value(id).tensor); }
  // Consecutive positions of a tensor that stripes leave on one rank.
  [[nodiscard]] std::int64_t interleave_of(const Tensor& tensor) const { return cp_interleave * tensor.stripe; }
  [[nodiscard]] const LogicalOp& op_of(const Node& node) const { return logical.ops[static_cast<std::size_t>(node.op)]; }
};

}  // namespace shardplan
