#include "costmodel/activation_peak.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "costmodel/expert_capacity.h"
#include "costmodel/index_sets.h"
#include "costmodel/traffic.h"
#include "costmodel/work.h"

namespace shardplan {
namespace {

// Tokens of the group that shares the experts, and rows that the experts of one rank take under their capacity.
struct AdmittedRows {
  double tokens = 0;
  double rows = 0;
};

// Nothing without a capacity factor.
std::optional<AdmittedRows> admitted_rows(const StepGraph& graph, const Node& node, const BatchShape& shape) {
  const ExpertsOp& op = graph.op_of(node).experts;
  if (op.capacity_factor_ratio <= 0) return std::nullopt;
  const WorkForm form = work_form(graph, node);
  const double tokens = evaluate(form.terms[0].symbol, shape) * form.tokens_ratio;
  const std::int64_t capacity = expert_capacity(std::llround(std::ceil(tokens)), op.per_token, op.experts, op.capacity_factor_ratio);
  const std::int64_t held = max_held(graph.mesh, graph.value(node.weights[0]).placement.of(Dim::kExperts), op.experts);
  return AdmittedRows{tokens, static_cast<double>(held * capacity)};
}

// Tokens that a rank holds of a value that was dispatched; nothing without a capacity factor.
std::optional<double> dispatched_tokens(const StepGraph& graph, const BatchShape& shape) {
  for (const Node& node : graph.nodes) {
    if (node.kind != NodeKind::kCompute || graph.op_of(node).kind != OpKind::kExperts) continue;
    const std::optional<AdmittedRows> admitted = admitted_rows(graph, node, shape);
    if (admitted) return std::min(admitted->tokens, admitted->rows);
  }
  return std::nullopt;
}

double live_bytes(const StepGraph& graph, ValueId id, const BatchShape& shape) {
  const Value& value = graph.value(id);
  const Tensor& tensor = graph.tensor_of(id);
  if (tensor.lifetime != Lifetime::kActivation) return 0;
  Placement placement = value.placement;
  const std::optional<double> dispatched = placement.routed.empty() ? std::nullopt : dispatched_tokens(graph, shape);
  if (!placement.routed.empty()) {   // received rows: about what was sent, spread evenly
    for (Digit d = 0; d < graph.mesh.digit_count(); ++d) {
      if (placement.routed.contains(d)) placement.append(Dim::kTokens, {d}, Layout::kContiguous);
    }
  }
  const double count = dispatched ? *dispatched : evaluate(ragged_symbol(graph, tensor, placement), shape);
  const auto elements = static_cast<double>(fixed_elements(graph, tensor, placement));
  double bytes = count * elements * element_bytes(tensor);
  if (!placement.lse.empty()) bytes += count * elements / static_cast<double>(tensor.dims.back().extent) * static_cast<double>(kLseBytes);
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

// Rows and widths of the two workspaces of fused experts: behind gate and up, and behind the activation; the second is
// reused for the output, so each is at least as wide as the model.
double expert_bytes(const StepGraph& graph, const Node& node, const BatchShape& shape, std::int64_t chunk) {
  const ExpertsOp& op = graph.op_of(node).experts;
  const WorkForm form = work_form(graph, node);
  double tokens = evaluate(form.terms[0].symbol, shape) * form.tokens_ratio;
  if (form.tokens_ratio > 1) {   // dispatched: each rank gets its share, spread evenly
    tokens /= static_cast<double>(std::max<std::int64_t>(1, graph.mesh.size(graph.value(node.weights[0]).placement.digits(Dim::kExperts))));
  }
  if (chunk > 0) tokens = std::min(tokens, static_cast<double>(chunk));
  const Tensor& up = graph.tensor_of(node.weights[0]);
  const auto width = max_held(graph.mesh, graph.value(node.weights[0]).placement.of(Dim::kFfn), up.extent(Dim::kFfn));
  const std::int64_t model = graph.tensor_of(node.inputs[0]).dims.back().extent;
  const std::int64_t columns = std::max((op.gated ? 2 : 1) * width, model) + std::max(width, model);
  double rows = tokens * static_cast<double>(op.per_token);
  if (const auto admitted = admitted_rows(graph, node, shape)) rows = std::min(evaluate(form.terms[0].symbol, shape) * form.tokens_ratio * static_cast<double>(op.per_token), admitted->rows);
  return rows * static_cast<double>(columns) * element_bytes(graph.tensor_of(node.outputs[0]));
}

// What a node needs beyond its operands: the wide activations of routed experts, the sampler's copies of the logits.
double inner_bytes(const StepGraph& graph, const Node& node, const BatchShape& shape, const StepBuffers& buffers) {
  if (node.kind != NodeKind::kCompute) return 0;
  const OpKind kind = graph.op_of(node).kind;
  if (kind == OpKind::kExperts) return expert_bytes(graph, node, shape, buffers.expert_chunk);
  if (kind != OpKind::kSample) return 0;
  const Tensor& logits = graph.tensor_of(node.inputs[0]);
  const double count = live_bytes(graph, node.inputs[0], shape) / element_bytes(logits);
  const double copy = buffers.copies_logits && graph.residual_in >= 0 ? element_bytes(graph.tensor_of(graph.residual_in)) : 0;
  return count * (buffers.sampler_bytes_per_logit + copy) +
         static_cast<double>(buffers.sampler_rows * logits.dims.back().extent) * element_bytes(logits);
}

// The last node before the piece that follows attention; -1 where there is none.
std::ptrdiff_t attention_end(const StepGraph& graph) {
  std::ptrdiff_t end = -1;
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    const OpKind kind = node.kind == NodeKind::kCompute ? graph.op_of(node).kind : OpKind::kAdd;
    const bool attends = kind == OpKind::kAttention || kind == OpKind::kScan || kind == OpKind::kJoin;
    if (attends || node.kind == NodeKind::kRingAttention) end = static_cast<std::ptrdiff_t>(n);
  }
  return end;
}

// Where each value is last read; what lives to the end of the graph is not freed at all.
std::vector<std::size_t> last_uses(const StepGraph& graph, bool holds_inputs) {
  std::vector<std::size_t> last(graph.values.size(), 0);
  std::vector<std::ptrdiff_t> made(graph.values.size(), -1);
  const std::ptrdiff_t piece = holds_inputs ? attention_end(graph) : -1;
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    for (const ValueId id : graph.nodes[n].inputs) last[static_cast<std::size_t>(id)] = n;
    for (const ValueId id : graph.nodes[n].outputs) made[static_cast<std::size_t>(id)] = static_cast<std::ptrdiff_t>(n);
  }
  for (std::size_t v = 0; v < last.size(); ++v) {
    const bool held = piece >= 0 && made[v] <= piece && static_cast<std::ptrdiff_t>(last[v]) > piece;
    if (held) last[v] = graph.nodes.size();
  }
  return last;
}

}  // namespace

Bytes activation_peak(const StepGraph& graph, const BatchShape& shape, const StepBuffers& buffers) {
  const std::vector<std::size_t> last_use = last_uses(graph, buffers.holds_inputs);
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
    peak = std::max(peak, live + inner_bytes(graph, node, shape, buffers));
    if (!view) release();
  }
  return Bytes(static_cast<std::int64_t>(peak));
}

Bytes expert_buffers(const StepGraph& graph, const BatchShape& shape, const StepBuffers& buffers) {
  double most = 0;
  for (const Node& node : graph.nodes) {
    if (node.kind != NodeKind::kCompute || graph.op_of(node).kind != OpKind::kExperts) continue;
    if (graph.tensor_of(node.weights[0]).format->bits > 4)   // kernels of 4-bit experts bring workspaces of their own
      most = std::max(most, expert_bytes(graph, node, shape, buffers.expert_chunk));
  }
  return Bytes(static_cast<std::int64_t>(most));
}

Bytes residual_bytes(const StepGraph& graph, const BatchShape& shape) {
  const ValueId id = graph.residual_in >= 0 ? graph.residual_in : graph.residual_out;
  return Bytes(static_cast<std::int64_t>(live_bytes(graph, id, shape)));
}

double residual_tokens(const StepGraph& graph, const BatchShape& shape) {
  const ValueId id = graph.residual_in >= 0 ? graph.residual_in : graph.residual_out;
  return evaluate(ragged_symbol(graph, graph.tensor_of(id), graph.value(id).placement), shape);
}

}  // namespace shardplan
