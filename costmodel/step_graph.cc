#include "costmodel/step_graph.h"

namespace shardplan {

const char* node_kind_name(NodeKind kind) {
  switch (kind) {
    case NodeKind::kCompute: return "compute";
    case NodeKind::kSlice: return "slice";
    case NodeKind::kAllGather: return "all_gather";
    case NodeKind::kReduceScatter: return "reduce_scatter";
    case NodeKind::kAllReduce: return "all_reduce";
    case NodeKind::kAllToAll: return "all_to_all";
    case NodeKind::kLseGather: return "lse_gather";
    case NodeKind::kLseExchange: return "lse_exchange";
    case NodeKind::kDispatch: return "dispatch";
    case NodeKind::kCombine: return "combine";
    case NodeKind::kRingAttention: return "ring_attention";
    case NodeKind::kSend: return "send";
  }
  return "?";
}

}  // namespace shardplan
