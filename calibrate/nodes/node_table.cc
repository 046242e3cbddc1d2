#include "calibrate/nodes/node_table.h"

#include <array>

#include "base/errors.h"

namespace shardplan {
namespace {

struct Row {
  NodeKind kind;
  NodeFunction function;
};

constexpr std::array kTable{
    Row{NodeKind::kCompute, run_compute},
    Row{NodeKind::kSlice, run_slice},
    Row{NodeKind::kAllGather, run_shard_collective},
    Row{NodeKind::kReduceScatter, run_shard_collective},
    Row{NodeKind::kAllToAll, run_shard_collective},
    Row{NodeKind::kAllReduce, run_all_reduce},
    Row{NodeKind::kLseGather, run_lse_gather},
    Row{NodeKind::kLseExchange, run_lse_exchange},
    Row{NodeKind::kDispatch, run_dispatch},
    Row{NodeKind::kCombine, run_combine},
    Row{NodeKind::kRingAttention, run_ring_attention},
};

}  // namespace

NodeFunction node_function(NodeKind kind) {
  for (const Row& row : kTable) {
    if (row.kind == kind) return row.function;
  }
  throw InternalError(std::string("the executor cannot run a node of kind ") + node_kind_name(kind));
}

}  // namespace shardplan
