#include "calibrate/graph_plan.h"

#include <string>

namespace shardplan {
namespace {

// Partial digits that are gone after the node.
DigitSet reduced_by(const Placement& before, const Placement& after) {
  DigitSet digits;
  for (Digit d = 0; d < 32; ++d) {
    const bool was = before.sum.contains(d) || before.lse.contains(d);
    if (was && !after.sum.contains(d) && !after.lse.contains(d)) digits.insert(d);
  }
  return digits;
}

// `rows`: of the LSE, which lacks the last dimension.
Transfer transfer_of(const GraphPlan& plan, const Node& node, DigitSet reduced, bool rows) {
  TransferRequest request{plan.graph.mesh, node.group, reduced, {}, {}, {}};
  request.what = std::string(node_kind_name(node.kind)) + " of " + plan.graph.tensor_of(node.inputs[0]).name;
  for (int rank = 0; rank < plan.graph.mesh.ranks(); ++rank) {
    const LocalDims& before = plan.layouts.at(node.inputs[0], rank);
    const LocalDims& after = plan.layouts.at(node.outputs[0], rank);
    request.before.push_back(rows ? row_dims(before) : before);
    request.after.push_back(rows ? row_dims(after) : after);
  }
  return plan_transfer(request);
}

AppendPlan plan_append(const GraphPlan& plan, const Node& node, int rank) {
  AppendPlan result;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const LocalDims& all = plan.layouts.at(node.outputs[i], rank);
    const auto& rows = all.front().ids;
    LocalDims& kept = result.kept.emplace_back(all);
    LocalDims& old = result.old.emplace_back(all);
    kept.front().ids.clear();
    old.front().ids.clear();
    const auto is_new = index_map(rows, plan.layouts.at(node.inputs[i], rank).front().ids);
    for (std::size_t row = 0; row < is_new.size(); ++row) (is_new[row] >= 0 ? kept : old).front().ids.push_back(rows[row]);
  }
  return result;
}

NodePlan plan_node(const GraphPlan& plan, const Node& node) {
  NodePlan result;
  if (node.kind == NodeKind::kCompute && plan.graph.op_of(node).kind == OpKind::kAppend) {
    for (int rank = 0; rank < plan.graph.mesh.ranks(); ++rank) result.appends.push_back(plan_append(plan, node, rank));
  }
  const bool shards = node.kind == NodeKind::kAllGather || node.kind == NodeKind::kReduceScatter ||
                      node.kind == NodeKind::kAllToAll || node.kind == NodeKind::kLseExchange;
  if (!shards && node.kind != NodeKind::kLseGather) return result;
  const Placement& before = plan.graph.value(node.inputs[0]).placement;
  const Placement& after = plan.graph.value(node.outputs[0]).placement;
  if (node.kind == NodeKind::kLseGather) {
    result.lse = transfer_of(plan, node, before.lse, true);
    return result;
  }
  const DigitSet reduced = reduced_by(before, after);
  result.values = transfer_of(plan, node, reduced, false);
  if (!before.lse.empty()) result.lse = transfer_of(plan, node, reduced, true);
  return result;
}

}  // namespace

GraphPlan::GraphPlan(const StepGraph& step_graph, const RaggedBatch& step_batch)
    : graph(step_graph), batch(step_batch), layouts(step_graph, step_batch) {
  for (const Node& node : graph.nodes) nodes.push_back(plan_node(*this, node));
  last_reader.resize(graph.values.size(), 0);
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    for (const ValueId id : graph.nodes[n].inputs) last_reader[static_cast<std::size_t>(id)] = n;
  }
  for (const ValueId id : {graph.residual_in, graph.residual_out}) {
    if (id >= 0) last_reader[static_cast<std::size_t>(id)] = graph.nodes.size();
  }
  dead_after.resize(graph.nodes.size());
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    for (const ValueList* list : {&node.inputs, &node.outputs}) {
      for (const ValueId id : *list) {
        if (last_reader[static_cast<std::size_t>(id)] <= n) dead_after[n].push_back(id);
      }
    }
  }
}

}  // namespace shardplan
