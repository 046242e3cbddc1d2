#include "costmodel/activation_peak.h"

#include <algorithm>
#include <vector>

#include "costmodel/traffic.h"
#include "costmodel/work.h"

namespace shardplan {
namespace {

double live_bytes(const StepGraph& graph, ValueId id, const BatchShape& shape) {
  const Value& value = graph.value(id);
  const Tensor& tensor = graph.tensor_of(id);
  if (tensor.lifetime != Lifetime::kActivation) return 0;
  Placement placement = value.placement;
  if (!placement.routed.empty()) {   // received rows: about what was sent, spread evenly
    for (Digit d = 0; d < graph.mesh.digit_count(); ++d) {
      if (placement.routed.contains(d)) placement.append(Dim::kTokens, {d}, Layout::kContiguous);
    }
  }
  const double count = evaluate(ragged_symbol(graph, tensor, placement), shape);
  const double bytes = count * static_cast<double>(fixed_elements(graph, tensor, placement)) * element_bytes(tensor);
  return value.streamed ? 0 : bytes;   // a ring's gathered keys go straight to the cache
}

// Whether the node hands its input on under another name.
bool is_view(const StepGraph& graph, const Node& node) {
  if (node.kind == NodeKind::kSlice) return true;
  if (node.kind != NodeKind::kCompute) return false;
  switch (graph.op_of(node).kind) {
    case OpKind::kSplit:
    case OpKind::kPrefix:
    case OpKind::kJoin:
    case OpKind::kRegroup:
    case OpKind::kAdd:
    case OpKind::kRotary: return true;
    case OpKind::kNorm: return !graph.op_of(node).own_kernel;   // in place
    default: return false;
  }
}

// What a node needs beyond its operands: the wide activations of routed experts.
double inner_bytes(const StepGraph& graph, const Node& node, const BatchShape& shape) {
  if (node.kind != NodeKind::kCompute || graph.op_of(node).kind != OpKind::kExperts) return 0;
  const WorkForm form = work_form(graph, node);
  const double tokens = evaluate(form.terms[0].symbol, shape) * form.tokens_ratio;
  const auto ranks = static_cast<double>(std::max<std::int64_t>(1, graph.mesh.size(graph.value(node.weights[0]).placement.digits(Dim::kExperts))));
  return tokens * static_cast<double>(graph.op_of(node).experts.per_token) / ranks * form.bytes_per_row / 2;
}

}  // namespace

Bytes activation_peak(const StepGraph& graph, const BatchShape& shape) {
  std::vector<std::size_t> last_use(graph.values.size(), 0);
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    for (const ValueId id : graph.nodes[n].inputs) last_use[static_cast<std::size_t>(id)] = n;
  }
  double live = graph.residual_in >= 0 ? live_bytes(graph, graph.residual_in, shape) : 0;
  double peak = live;
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    for (const ValueId id : node.outputs) live += live_bytes(graph, id, shape);
    const bool view = is_view(graph, node);
    const auto release = [&] {
      for (const ValueId id : node.inputs) {
        if (last_use[static_cast<std::size_t>(id)] == n && id != graph.residual_in) live -= live_bytes(graph, id, shape);
      }
    };
    if (view) release();
    peak = std::max(peak, live + inner_bytes(graph, node, shape));
    if (!view) release();
  }
  return Bytes(static_cast<std::int64_t>(peak));
}

}  // namespace shardplan
