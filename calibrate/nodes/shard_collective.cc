#include "base/errors.h"
#include "calibrate/kernels/elementwise.h"
#include "calibrate/nodes/node_table.h"
#include "calibrate/nodes/shard_buffers.h"
#include "costmodel/traffic.h"

namespace shardplan {
namespace {

// What came from each rank of the group, in the group's order, added or put in place.
void collect(RankState& state, const SendParts& own, std::vector<float>& out, bool add) {
  const auto& group = own.transfer.group[static_cast<std::size_t>(state.rank)];
  for (const int sender : group) {
    const std::vector<float> buffer = part_from(state, sender, own);
    const auto& moves = own.transfer.between(sender, state.rank);
    for (std::size_t i = 0; i < moves.size(); ++i) {
      for (int w = 0; w < own.width; ++w) {
        float& to = out[moves[i].to * own.width + w];
        const float value = buffer[i * own.width + w];
        to = add ? to + value : value;
      }
    }
  }
}

}  // namespace

void run_slice(RankState& state, const Node& node) {
  LocalArray out = state.shaped(node.outputs[0]);
  select(state.value(node.inputs[0]), out);
  state.set(node.outputs[0], std::move(out));
}

void run_shard_collective(RankState& state, const Node& node) {
  const LocalArray& in = state.value(node.inputs[0]);
  LocalArray out = state.shaped(node.outputs[0]);
  const NodePlan& plan = state.node_plan(node);
  const bool add = node.kind == NodeKind::kReduceScatter;
  ensure(!add || in.lse.empty(), "partial attention outputs cannot be added");
  ensure(in.lse.empty() == out.lse.empty(), "the log-sum-exp was lost on the way");
  const SendParts values{plan.values, in.values, in.width, state.bytes_per_element(node.inputs[0]), Payload::kValues};
  const SendParts lse{plan.lse, in.lse, 1, double{kLseBytes}, Payload::kLse};
  send_parts(state, values);
  if (!in.lse.empty()) send_parts(state, lse);
  collect(state, values, out.values, add);
  if (!in.lse.empty()) collect(state, lse, out.lse, false);
  state.set(node.outputs[0], std::move(out));
}

}  // namespace shardplan
