// One function per kind of node; a new kind is a new file and a row here.
#pragma once

#include "calibrate/nodes/rank_state.h"

namespace shardplan {

using NodeFunction = void (*)(RankState&, const Node&);

void run_compute(RankState& state, const Node& node);
void run_slice(RankState& state, const Node& node);
// All-gather, reduce-scatter, all-to-all: each rank sends each peer the part that it needs, padded.
void run_shard_collective(RankState& state, const Node& node);
// Reduce-scatter and all-gather of the flat array in equal chunks.
void run_all_reduce(RankState& state, const Node& node);
// LSE of all ranks to each, own output scaled: a partial sum.
void run_lse_gather(RankState& state, const Node& node);
// Parts of O and LSE to the ranks that keep them, merged there.
void run_lse_exchange(RankState& state, const Node& node);
// A token once to each rank that holds one of its experts; indices travel along.
void run_dispatch(RankState& state, const Node& node);
void run_combine(RankState& state, const Node& node);
// Blocks of K and V go round; each is attended to as it comes.
void run_ring_attention(RankState& state, const Node& node);

// InternalError for a kind that has no function.
[[nodiscard]] NodeFunction node_function(NodeKind kind);

}  // namespace shardplan
