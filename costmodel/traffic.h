// What a communicating node puts on the wire, from shapes and placements alone.
//
// N ranks of a group, part = the largest part any rank sends to one peer (a padding engine moves that much to each):
//   all-gather, reduce-scatter, all-to-all, LSE exchange:  sent (N-1)*part, message N*part
//   all-reduce:   sent 2(N-1)*ceil(n/N), message n   (n elements, the same on every rank)
//   LSE gather:   as an all-gather of 4 bytes per (token, head)
//   ring:         (N-1) blocks of the local K and V, one at a time
//   send:         the local residual stream, once
//   dispatch:     each local token once to every other rank that holds one of its experts (expected number), rows in the
//                 dispatch format with their routing; combine: one partial row back per (token, rank)
// Elements travel in their tensor's format. LSE travels beside partial O wherever O goes.
#pragma once

#include <cstdint>

#include "costmodel/collectives/collective.h"
#include "costmodel/expert_load.h"
#include "costmodel/step_graph.h"
#include "costmodel/symbol.h"

namespace shardplan {

inline constexpr std::int64_t kLseBytes = 4;   // one fp32 per token and head

// Bytes per unit of one symbol.
struct TrafficForm {
  CollectiveKind kind = CollectiveKind::kAllGather;
  std::int64_t group_size = 1;
  Symbol symbol;
  double message_ratio = 0;          // message bytes = ratio * symbol
  double sent_ratio = 0;             // bytes sent by the busiest sender
  double received_ratio = 0;         // bytes received by the busiest receiver, where it is more (combine, dispatch)
  std::int64_t unit_elements = 0;    // kAllReduce: elements per unit of the symbol (for exact padding)
  double element_bytes = 0;
  double token_ratio = 0;            // kDispatch, kCombine: bytes of the tokens, each counted once
  double experts_per_token = 1;
  double group_tokens_ratio = 0;     // kDispatch, kCombine: tokens of the group per unit; under a capacity factor fewer rows move
};

// What a node moves for so many units of its symbol. `experts` as of traffic_form.
struct MovedBytes {
  double message = 0;
  double sent = 0;      // by the busiest sender
  double busiest = 0;   // by the busiest sender or receiver, over what it is of the message without a capacity factor
};
[[nodiscard]] MovedBytes moved_bytes(const TrafficForm& form, const ExpertLoadModel* experts, double units);

[[nodiscard]] bool communicates(NodeKind kind);

// `experts` is needed by dispatch and combine alone.
[[nodiscard]] TrafficForm traffic_form(const StepGraph& graph, const Node& node, const ExpertLoadModel* experts);

// Bytes the busiest rank sends in this node for a list of requests: what the executor's communicator must count.
// Not for dispatch and combine, whose bytes are those of the routing that occurred.
[[nodiscard]] double sent_bytes(const StepGraph& graph, const Node& node, const RaggedBatch& batch);

// Elements of a value on the busiest rank per unit of its ragged dimension, all other dimensions as placed.
[[nodiscard]] std::int64_t fixed_elements(const StepGraph& graph, const Tensor& tensor, const Placement& placement);
// The ragged dimension of a value as a symbol (kOne for weights).
[[nodiscard]] Symbol ragged_symbol(const StepGraph& graph, const Tensor& tensor, const Placement& placement);
[[nodiscard]] double element_bytes(const Tensor& tensor);

}  // namespace shardplan
