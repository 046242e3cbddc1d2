#include "calibrate/nodes/shard_buffers.h"

#include "base/errors.h"

namespace shardplan {

std::vector<float> packed(const std::vector<float>& values, int width, const std::vector<Move>& moves, std::int64_t part) {
  std::vector<float> buffer(static_cast<std::size_t>(part * width), 0.0F);
  for (std::size_t i = 0; i < moves.size(); ++i) {
    for (int w = 0; w < width; ++w) buffer[i * width + w] = values[moves[i].from * width + w];
  }
  return buffer;
}

void send_parts(RankState& state, const SendParts& parts) {
  for (const int peer : parts.transfer.group[static_cast<std::size_t>(state.rank)]) {
    if (peer == state.rank) continue;
    auto buffer = packed(parts.values, parts.width, parts.transfer.between(state.rank, peer), parts.transfer.part);
    state.send(peer, {std::move(buffer), {}}, parts.transfer.part, parts.element_bytes, parts.payload);
  }
}

std::vector<float> part_from(RankState& state, int sender, const SendParts& own) {
  const auto size = static_cast<std::size_t>(own.transfer.part * own.width);
  if (sender == state.rank) {
    return packed(own.values, own.width, own.transfer.between(sender, sender), own.transfer.part);
  }
  auto buffer = state.receive(sender).values;
  ensure(buffer.size() == size, "a message of another size than the graph says");
  return buffer;
}

}  // namespace shardplan
