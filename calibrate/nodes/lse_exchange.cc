#include <limits>

#include "base/errors.h"
#include "calibrate/nodes/lse_merge.h"
#include "calibrate/nodes/node_table.h"
#include "calibrate/nodes/shard_buffers.h"
#include "costmodel/traffic.h"

namespace shardplan {
namespace {

constexpr float kNothing = -std::numeric_limits<float>::infinity();

// One rank's share of this rank's rows.
struct Share {
  std::vector<float> values;   // packed as the moves say
  std::vector<float> lse;      // by row of the output
};

std::vector<float> by_row(const std::vector<float>& buffer, const std::vector<Move>& moves, std::size_t rows) {
  std::vector<float> lse(rows, kNothing);
  for (std::size_t i = 0; i < moves.size(); ++i) lse[moves[i].to] = buffer[i];
  return lse;
}

}  // namespace

void run_lse_exchange(RankState& state, const Node& node) {
  const LocalArray& in = state.value(node.inputs[0]);
  LocalArray out = state.shaped(node.outputs[0]);
  const NodePlan& plan = state.node_plan(node);
  ensure(out.lse.empty(), "an LSE exchange merges over all partial digits at once");
  const SendParts values{plan.values, in.values, 1, state.bytes_per_element(node.inputs[0]), Payload::kValues};
  const SendParts lse{plan.lse, in.lse, 1, double{kLseBytes}, Payload::kLse};
  send_parts(state, values);
  send_parts(state, lse);
  const auto& group = plan.values.group[static_cast<std::size_t>(state.rank)];
  std::vector<Share> shares;
  for (const int sender : group) {
    Share share{part_from(state, sender, values), {}};
    share.lse = by_row(part_from(state, sender, lse), plan.lse.between(sender, state.rank), static_cast<std::size_t>(out.rows()));
    shares.push_back(std::move(share));
  }
  std::vector<std::vector<float>> parts;
  for (const Share& share : shares) parts.push_back(share.lse);
  const std::vector<float> whole = merged_lse(parts);
  const std::int64_t columns = out.columns();
  for (std::size_t s = 0; s < shares.size(); ++s) {
    const auto& moves = plan.values.between(group[s], state.rank);
    for (std::size_t i = 0; i < moves.size(); ++i) {
      const std::int64_t row = moves[i].to / columns;
      out.values[moves[i].to] += shares[s].values[i] * lse_weight(shares[s].lse[row], whole[row]);
    }
  }
  state.set(node.outputs[0], std::move(out));
}

}  // namespace shardplan
