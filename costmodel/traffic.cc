#include "costmodel/traffic.h"

#include <algorithm>
#include <iterator>

#include "base/errors.h"

namespace shardplan {
namespace {

bool is_ragged(Dim dim) { return dim == Dim::kTokens || dim == Dim::kPositions || dim == Dim::kRequests; }

CollectiveKind collective_of(NodeKind kind) {
  switch (kind) {
    case NodeKind::kAllReduce: return CollectiveKind::kAllReduce;
    case NodeKind::kReduceScatter: return CollectiveKind::kReduceScatter;
    case NodeKind::kAllGather:
    case NodeKind::kLseGather: return CollectiveKind::kAllGather;
    case NodeKind::kRingAttention:
    case NodeKind::kSend: return CollectiveKind::kSendReceive;
    case NodeKind::kDispatch: return CollectiveKind::kDispatch;
    case NodeKind::kCombine: return CollectiveKind::kCombine;
    default: return CollectiveKind::kAllToAll;
  }
}

// The finer of both placements in every dimension: what a rank holds that a peer needs.
Placement intersection(const Placement& from, const Placement& to, DigitSet group, bool& relayout) {
  Placement result = from;
  result.sum = result.lse = DigitSet();
  for (const Shard& shard : to.shards) {
    if (!group.contains(shard.digit)) continue;
    const Shard* held = from.at(shard.digit);
    if (held == nullptr || held->dim != shard.dim) result.shards.push_back(shard);
    else if (held->layout != shard.layout) relayout = true;
  }
  return result;
}

std::int64_t lse_elements(const StepGraph& graph, const Placement& placement, const Tensor& tensor) {
  return max_held(graph.mesh, placement.of(Dim::kHeads), tensor.extent(Dim::kHeads));
}

TrafficForm shard_traffic(const StepGraph& graph, const Node& node, TrafficForm form) {
  const Tensor& tensor = graph.tensor_of(node.inputs[0]);
  const Placement& from = graph.value(node.inputs[0]).placement;
  const Placement& to = graph.value(node.outputs[0]).placement;
  bool relayout = false;
  Placement part = intersection(from, to, node.group, relayout);
  form.symbol = ragged_symbol(graph, tensor, part);
  double unit = static_cast<double>(fixed_elements(graph, tensor, part)) * element_bytes(tensor);
  if (relayout) unit /= static_cast<double>(form.group_size);
  const bool carries_lse = !from.lse.empty() && node.kind != NodeKind::kLseGather;
  if (carries_lse) unit += static_cast<double>(lse_elements(graph, part, tensor) * kLseBytes);
  if (node.kind == NodeKind::kLseGather) unit = static_cast<double>(lse_elements(graph, from, tensor) * kLseBytes);
  form.sent_ratio = static_cast<double>(form.group_size - 1) * unit;
  form.message_ratio = static_cast<double>(form.group_size) * unit;
  return form;
}

TrafficForm all_reduce_traffic(const StepGraph& graph, const Node& node, TrafficForm form) {
  const Tensor& tensor = graph.tensor_of(node.inputs[0]);
  const Placement& placement = graph.value(node.outputs[0]).placement;
  form.symbol = ragged_symbol(graph, tensor, placement);
  form.unit_elements = fixed_elements(graph, tensor, placement);
  form.element_bytes = element_bytes(tensor);
  form.message_ratio = static_cast<double>(form.unit_elements) * form.element_bytes;
  const auto n = static_cast<double>(form.group_size);
  form.sent_ratio = 2 * (n - 1) / n * form.message_ratio;
  return form;
}

TrafficForm ring_traffic(const StepGraph& graph, const Node& node, TrafficForm form) {
  double block = 0;
  for (const ValueId id : {node.inputs[1], node.inputs[2]}) {
    const Tensor& tensor = graph.tensor_of(id);
    block += static_cast<double>(fixed_elements(graph, tensor, graph.value(id).placement)) * element_bytes(tensor);
  }
  form.symbol = ragged_symbol(graph, graph.tensor_of(node.inputs[1]), graph.value(node.inputs[1]).placement);
  form.message_ratio = block;
  form.sent_ratio = block * static_cast<double>(form.group_size - 1);
  return form;
}

TrafficForm send_traffic(const StepGraph& graph, const Node& node, TrafficForm form) {
  const Tensor& tensor = graph.tensor_of(node.inputs[0]);
  const Placement& placement = graph.value(node.inputs[0]).placement;
  form.group_size = 2;
  form.symbol = ragged_symbol(graph, tensor, placement);
  form.message_ratio = form.sent_ratio = static_cast<double>(fixed_elements(graph, tensor, placement)) * element_bytes(tensor);
  return form;
}

// Per local token: expected visits to other ranks times the row; the busiest rank receives its share of all others' tokens.
TrafficForm expert_traffic(const StepGraph& graph, const Node& node, TrafficForm form, const ExpertLoadModel& experts) {
  const bool dispatch = node.kind == NodeKind::kDispatch;
  const ValueId at_tokens = dispatch ? node.inputs[0] : node.outputs[0];
  const ValueId row_value = dispatch ? node.outputs[0] : node.inputs[0];
  const Tensor& tensor = graph.tensor_of(row_value);
  double row = static_cast<double>(tensor.dims.back().extent) * element_bytes(tensor);
  if (dispatch) {
    const Tensor& routing = graph.tensor_of(node.outputs[1]);
    row += static_cast<double>(routing.extent(Dim::kRouted)) * element_bytes(routing);
  }
  form.symbol = ragged_symbol(graph, graph.tensor_of(at_tokens), graph.value(at_tokens).placement);
  const auto group = static_cast<double>(form.group_size);
  const double others = group - 1;
  const double mean = others * experts.mean_visit_ratio() * row;
  const double busiest = others * experts.busiest_visit_ratio() * row;
  form.message_ratio = group * experts.mean_visit_ratio() * row;
  form.sent_ratio = dispatch ? mean : busiest;        // combine: the most visited rank returns most rows
  form.received_ratio = dispatch ? busiest : mean;
  form.token_ratio = row;
  form.experts_per_token = experts.experts_per_token();
  form.group_tokens_ratio = group;
  return form;
}

}  // namespace

MovedBytes moved_bytes(const TrafficForm& form, const ExpertLoadModel* experts, double units) {
  const double message = form.message_ratio * units;
  const double sent = form.sent_ratio * units;
  if (form.group_tokens_ratio <= 0 || experts == nullptr) return {message, sent, message};
  const double mean = experts->mean_visits_left_ratio(units * form.group_tokens_ratio);
  const double busiest = experts->busiest_visits_left_ratio(units * form.group_tokens_ratio);
  return {message * mean, sent * (form.kind == CollectiveKind::kDispatch ? mean : busiest), message * busiest};
}

bool communicates(NodeKind kind) { return kind != NodeKind::kCompute && kind != NodeKind::kSlice; }

double element_bytes(const Tensor& tensor) {
  return tensor.format->bytes_per_element() / static_cast<double>(tensor.every);
}

std::int64_t fixed_elements(const StepGraph& graph, const Tensor& tensor, const Placement& placement) {
  std::int64_t elements = 1;
  for (const DimExtent& dim : tensor.dims) {
    if (!is_ragged(dim.dim)) elements *= max_held(graph.mesh, placement.of(dim.dim), dim.extent);
  }
  return elements;
}

Symbol ragged_symbol(const StepGraph& graph, const Tensor& tensor, const Placement& placement) {
  if (tensor.dims.empty() || !is_ragged(tensor.dims.front().dim)) return {};
  const Dim dim = tensor.dims.front().dim;
  Symbol symbol;
  symbol.kind = dim == Dim::kTokens ? SymbolKind::kTokens : SymbolKind::kPrefixPositions;
  symbol.phase = tensor.phase;
  if (dim == Dim::kRequests) {   // as many as there are last tokens
    symbol.kind = SymbolKind::kTokens;
    symbol.phase = Phase::kLast;
  }
  if (dim == Dim::kPositions) {
    symbol.window = tensor.window;
    symbol.every = tensor.every;
  }
  symbol.list = placement.of(dim);
  symbol.split = ragged_split(graph.mesh, symbol.list, graph.interleave_of(tensor));
  return symbol;
}

TrafficForm traffic_form(const StepGraph& graph, const Node& node, const ExpertLoadModel* experts) {
  TrafficForm form;
  form.kind = collective_of(node.kind);
  form.group_size = graph.mesh.size(node.group);
  switch (node.kind) {
    case NodeKind::kAllReduce: return all_reduce_traffic(graph, node, form);
    case NodeKind::kRingAttention: return ring_traffic(graph, node, form);
    case NodeKind::kSend: return send_traffic(graph, node, form);
    case NodeKind::kDispatch:
    case NodeKind::kCombine:
      ensure(experts != nullptr, "dispatch needs an expert load");
      return expert_traffic(graph, node, form, *experts);
    default: return shard_traffic(graph, node, form);
  }
}

namespace {

// The largest part any rank has for one peer when the layout of a dimension changes.
std::int64_t relayout_part(const StepGraph& graph, const Node& node, const RaggedBatch& batch) {
  const Tensor& tensor = graph.tensor_of(node.inputs[0]);
  const Dim dim = tensor.dims.front().dim;
  const auto all = dim == Dim::kTokens ? batch_tokens(batch, tensor.phase) : batch_positions(batch, tensor.phase, false, {tensor.every, tensor.window});
  const auto held = [&](ValueId id, std::int64_t rank) {
    return held_tokens(graph.mesh, graph.value(id).placement.of(dim), batch, all, graph.interleave_of(tensor), rank);
  };
  std::int64_t most = 0;
  for (std::int64_t from = 0; from < graph.mesh.ranks(); ++from) {
    const auto mine = held(node.inputs[0], from);
    for (const int to : graph.mesh.group_of(from, node.group)) {
      const auto theirs = held(node.outputs[0], to);
      std::vector<std::int64_t> both;
      std::set_intersection(mine.begin(), mine.end(), theirs.begin(), theirs.end(), std::back_inserter(both));
      most = std::max(most, static_cast<std::int64_t>(both.size()));
    }
  }
  return most;
}

}  // namespace

double sent_bytes(const StepGraph& graph, const Node& node, const RaggedBatch& batch) {
  const TrafficForm form = traffic_form(graph, node, nullptr);
  if (node.kind == NodeKind::kAllToAll) {
    bool relayout = false;
    intersection(graph.value(node.inputs[0]).placement, graph.value(node.outputs[0]).placement, node.group, relayout);
    const auto group = static_cast<double>(form.group_size);
    if (relayout) return form.sent_ratio * group * static_cast<double>(relayout_part(graph, node, batch));
  }
  const std::int64_t count = evaluate_exactly(form.symbol, graph.mesh, batch);
  if (node.kind == NodeKind::kAllReduce) {
    const std::int64_t padded = ceil_div(count * form.unit_elements, form.group_size);
    return static_cast<double>(2 * (form.group_size - 1) * padded) * form.element_bytes;
  }
  return form.sent_ratio * static_cast<double>(count);
}

}  // namespace shardplan
