#include "calibrate/nodes/attention_task.h"

#include "base/errors.h"

namespace shardplan {
namespace {

bool is_first(const RankState& state, DigitSet digits) {
  for (int d = 0; d < state.graph().mesh.digit_count(); ++d) {
    const auto digit = static_cast<Digit>(d);
    if (digits.contains(digit) && state.graph().mesh.coordinate(state.rank, digit) != 0) return false;
  }
  return true;
}

}  // namespace

AttentionTask attention_task(const RankState& state, const Node& node) {
  const Tensor& q = state.graph().tensor_of(node.inputs[0]);
  const Tensor& k = state.graph().tensor_of(node.inputs[1]);
  const AttentionOp& op = state.graph().op_of(node).attention;
  if (op.top_k > 0 && !op.selects) throw InternalError("attention over a selection that another layer made cannot run alone");
  const LocalArray* selection = op.selects ? &state.value(node.inputs[node.inputs.size() - 1]) : nullptr;
  return {op, q.extent(Dim::kHeads), k.has(Dim::kKvHeads) ? k.extent(Dim::kKvHeads) : 0, selection};
}

void add_sinks(const RankState& state, const Node& node, const LocalArray& out, BlockAttention& attention) {
  if (!state.graph().op_of(node).attention.sinks) return;
  if (!is_first(state, state.graph().value(node.outputs[0]).placement.lse)) return;
  std::vector<float> logits;
  for (const std::int64_t head : out.ids(Dim::kHeads)) logits.push_back(static_cast<float>(state.context.source.sink(state.layer, head)));
  attention.add_sinks(logits);
}

}  // namespace shardplan
