#include <algorithm>

#include "base/errors.h"
#include "calibrate/nodes/node_table.h"

namespace shardplan {
namespace {

using Chunk = std::vector<float>;

Chunk chunk_of(const std::vector<float>& padded, std::size_t index, std::size_t size) {
  const auto first = padded.begin() + static_cast<std::ptrdiff_t>(index * size);
  return {first, first + static_cast<std::ptrdiff_t>(size)};
}

// This rank's chunk, added over the group in its order.
Chunk reduced_chunk(RankState& state, const std::vector<int>& group, const std::vector<float>& padded, std::size_t size, double bytes) {
  std::size_t self = 0;
  for (std::size_t i = 0; i < group.size(); ++i) {
    if (group[i] == state.rank) self = i;
    else state.send(group[i], {chunk_of(padded, i, size), {}}, static_cast<std::int64_t>(size), bytes);
  }
  Chunk sum(size, 0.0F);
  for (const int sender : group) {
    const Chunk part = sender == state.rank ? chunk_of(padded, self, size) : state.receive(sender).values;
    ensure(part.size() == size, "a message of another size than the graph says");
    for (std::size_t i = 0; i < size; ++i) sum[i] += part[i];
  }
  return sum;
}

}  // namespace

void run_all_reduce(RankState& state, const Node& node) {
  const LocalArray& in = state.value(node.inputs[0]);
  LocalArray out = state.shaped(node.outputs[0]);
  ensure(in.dims == out.dims && in.lse.empty(), "an all-reduce keeps the shape");
  const std::vector<int> group = state.group(node);
  const auto ranks = static_cast<std::int64_t>(group.size());
  const auto size = static_cast<std::size_t>(ceil_div(state.plan.layouts.largest(node.inputs[0]), ranks));
  const double bytes = state.bytes_per_element(node.inputs[0]);
  std::vector<float> padded = in.values;
  padded.resize(size * group.size(), 0.0F);
  const Chunk own = reduced_chunk(state, group, padded, size, bytes);
  for (const int peer : group) {
    if (peer != state.rank) state.send(peer, {own, {}}, static_cast<std::int64_t>(size), bytes);
  }
  for (std::size_t i = 0; i < group.size(); ++i) {
    const Chunk part = group[i] == state.rank ? own : state.receive(group[i]).values;
    ensure(part.size() == size, "a message of another size than the graph says");
    std::copy(part.begin(), part.end(), padded.begin() + static_cast<std::ptrdiff_t>(i * size));
  }
  std::copy_n(padded.begin(), out.values.size(), out.values.begin());
  state.set(node.outputs[0], std::move(out));
}

}  // namespace shardplan
