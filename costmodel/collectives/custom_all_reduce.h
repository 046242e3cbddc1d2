// The all-reduces that engines write themselves for decode: peers' buffers mapped into each other, launched from a
// CUDA graph, inside one fast domain of at most eight ranks.
// Source: vLLM and TensorRT-LLM kernels; measured floors 3 to 7 us against 15 us of NCCL's.
#pragma once

#include "costmodel/collectives/collective.h"

namespace shardplan {

inline constexpr int kCustomAllReduceRanks = 8;

// Whether the group and the launch allow it, and the message fits in `limit`.
[[nodiscard]] inline bool custom_all_reduce_applies(const CollectiveRequest& request, const GroupLinks& links,
                                                    Bytes limit) {
  return request.kind == CollectiveKind::kAllReduce && request.graph_captured && links.peer_access &&
         links.nodes == 1 && links.ranks <= kCustomAllReduceRanks &&
         request.message_bytes <= static_cast<double>(limit.value());
}

}  // namespace shardplan
