// Packing what a peer needs into a padded raw buffer, and back.
#pragma once

#include <vector>

#include "calibrate/nodes/rank_state.h"

namespace shardplan {

// The moved elements in the receiver's order, then zeros up to `part` elements.
[[nodiscard]] std::vector<float> packed(const std::vector<float>& values, int width, const std::vector<Move>& moves, std::int64_t part);

// Sends to every peer of this rank's group its part of `values` (or of an LSE), padded.
struct SendParts {
  const Transfer& transfer;
  const std::vector<float>& values;
  int width = 1;
  double element_bytes = 0;
  Payload payload = Payload::kValues;
};
void send_parts(RankState& state, const SendParts& parts);

// The buffer from one rank of the group: received, or packed from `own` when it is this rank.
[[nodiscard]] std::vector<float> part_from(RankState& state, int sender, const SendParts& own);

}  // namespace shardplan
