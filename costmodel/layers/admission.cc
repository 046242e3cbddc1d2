#include "costmodel/layers/admission.h"

#include <utility>

namespace shardplan {

LogicalGraph with_admission(LogicalGraph graph, double capacity_factor_ratio) {
  std::vector<LogicalOp> ops;
  for (LogicalOp& op : graph.ops) {
    if (op.kind == OpKind::kExperts) {
      Tensor admitted = graph.tensor(op.inputs[1]);
      admitted.name = "routing_admitted";
      op.experts.capacity_factor_ratio = capacity_factor_ratio;
      const TensorId id = graph.add(std::move(admitted));
      ops.push_back({.kind = OpKind::kAdmit,
                     .name = "capacity",
                     .inputs = {op.inputs[1]},
                     .outputs = {id},
                     .experts = op.experts});
      op.inputs[1] = id;
    }
    ops.push_back(std::move(op));
  }
  graph.ops = std::move(ops);
  return graph;
}

}  // namespace shardplan
