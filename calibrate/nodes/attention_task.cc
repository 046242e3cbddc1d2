#include "calibrate/nodes/attention_task.h"

#include "calibrate/nodes/operand.h"

namespace shardplan {
AttentionTask attention_task(const RankState& state, const Node& node) {
  const Tensor& q = state.graph().tensor_of(node.inputs[0]);
  const Tensor& k = state.graph().tensor_of(node.inputs[1]);
  const AttentionOp& op = state.graph().op_of(node).attention;
  const LocalArray* selection = op.selects ? &state.value(node.inputs[node.inputs.size() - 1]) : nullptr;
  return {op, q.extent(Dim::kHeads), k.has(Dim::kKvHeads) ? k.extent(Dim::kKvHeads) : 0, selection};
}

void add_sinks(RankState& state, const Node& node, const LocalArray& out, BlockAttention& attention) {
  if (!state.graph().op_of(node).attention.sinks) return;
  if (!state.is_first(state.graph().value(node.outputs[0]).placement.lse)) return;
  const LocalArray& sinks = operand(state, node.weights[0]);
  std::vector<float> logits;
  for (const std::int64_t at : offsets_of(sinks.dims, {{Dim::kHeads, out.ids(Dim::kHeads)}}, "sinks")) logits.push_back(sinks.values[at]);
  attention.add_sinks(logits);
}

}  // namespace shardplan
