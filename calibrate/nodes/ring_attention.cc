#include <algorithm>

#include "base/errors.h"
#include "calibrate/nodes/attention_task.h"
#include "calibrate/nodes/node_table.h"

namespace shardplan {
namespace {

// K and V of one rank of the ring, as they lie in this rank's hands.
struct Block {
  LocalArray k;
  LocalArray v;
};

// Fills the rows of `out` that `block` holds.
void put_block(const LocalArray& block, LocalArray& out) {
  const auto to = offsets_of(out.dims, block.dims, "ring block");
  for (std::size_t i = 0; i < to.size(); ++i) out.values[to[i]] = block.values[i];
}

void send_array(RankState& state, const Node& node, std::size_t input, const LocalArray& array, int to) {
  const std::int64_t part = state.plan.layouts.largest(node.inputs[input]);
  std::vector<float> padded = array.values;
  padded.resize(static_cast<std::size_t>(part), 0.0F);
  state.send(to, {std::move(padded), {}}, part, state.bytes_per_element(node.inputs[input]));
}

// The block that rank `owner` started with, from `sender`.
LocalArray receive_array(RankState& state, const Node& node, std::size_t input, int owner, int sender) {
  LocalArray array(state.plan.layouts.at(node.inputs[input], owner));
  std::vector<float> buffer = state.receive(sender).values;
  ensure(static_cast<std::int64_t>(buffer.size()) == state.plan.layouts.largest(node.inputs[input]),
         "a message of another size than the graph says");
  buffer.resize(array.values.size());
  array.values = std::move(buffer);
  return array;
}

}  // namespace

void run_ring_attention(RankState& state, const Node& node) {
  LocalArray out = state.shaped(node.outputs[0]);
  LocalArray k_all = state.shaped(node.outputs[1]);
  LocalArray v_all = state.shaped(node.outputs[2]);
  const auto attention = state.context.kernels.attention(attention_task(state, node), state.value(node.inputs[0]), out);
  add_sinks(state, node, out, *attention);
  if (node.inputs.size() > 3) attention->add(state.value(node.inputs[3]), state.value(node.inputs[4]));

  const std::vector<int> group = state.group(node);
  const std::size_t ranks = group.size();
  const auto self = static_cast<std::size_t>(std::find(group.begin(), group.end(), state.rank) - group.begin());
  const int next = group[(self + 1) % ranks];
  const int previous = group[(self + ranks - 1) % ranks];
  Block block{state.value(node.inputs[1]), state.value(node.inputs[2])};
  for (std::size_t hop = 0; hop < ranks; ++hop) {
    const int arriving = group[(self + 2 * ranks - hop - 1) % ranks];
    const bool more = hop + 1 < ranks;
    if (more) {
      send_array(state, node, 1, block.k, next);
      send_array(state, node, 2, block.v, next);
    }
    attention->add(block.k, block.v);
    put_block(block.k, k_all);
    put_block(block.v, v_all);
    if (!more) break;
    block.k = receive_array(state, node, 1, arriving, previous);
    block.v = receive_array(state, node, 2, arriving, previous);
  }
  attention->finish(out);
  state.set(node.outputs[0], std::move(out));
  state.set(node.outputs[1], std::move(k_all));
  state.set(node.outputs[2], std::move(v_all));
}

}  // namespace shardplan
