// Attention as a node of a graph asks for it.
#pragma once

#include "calibrate/kernels/attention.h"
#include "calibrate/nodes/rank_state.h"

namespace shardplan {

// Global head counts from the tensors of q and k. The selection is the node's own input, if it has one.
[[nodiscard]] AttentionTask attention_task(const RankState& state, const Node& node);

// Adds the sinks, if the op has any, on the one rank that lies first along the output's partial digits.
void add_sinks(RankState& state, const Node& node, const LocalArray& out, BlockAttention& attention);

}  // namespace shardplan
