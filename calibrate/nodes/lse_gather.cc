#include "base/errors.h"
#include "calibrate/nodes/lse_merge.h"
#include "calibrate/nodes/node_table.h"
#include "calibrate/nodes/shard_buffers.h"
#include "costmodel/traffic.h"

namespace shardplan {

void run_lse_gather(RankState& state, const Node& node) {
  const LocalArray& in = state.value(node.inputs[0]);
  LocalArray out = state.shaped(node.outputs[0]);
  const NodePlan& plan = state.node_plan(node);
  ensure(out.dims == in.dims && out.lse.empty(), "an LSE gather merges over all partial digits at once");
  const SendParts own{plan.lse, in.lse, 1, double{kLseBytes}, Payload::kLse};
  send_parts(state, own);
  std::vector<std::vector<float>> parts;
  for (const int sender : plan.lse.group[static_cast<std::size_t>(state.rank)]) {
    parts.push_back(part_from(state, sender, own));
    parts.back().resize(in.lse.size());
  }
  const std::vector<float> whole = merged_lse(parts);
  const std::int64_t columns = in.columns();
  for (std::size_t i = 0; i < in.values.size(); ++i) {
    const auto row = static_cast<std::int64_t>(i) / columns;
    out.values[i] = in.values[i] * lse_weight(in.lse[row], whole[row]);
  }
  state.set(node.outputs[0], std::move(out));
}

}  // namespace shardplan
