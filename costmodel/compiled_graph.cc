#include "costmodel/compiled_graph.h"

#include <algorithm>
#include <cmath>

#include "base/errors.h"

namespace shardplan {
namespace {

static_assert(static_cast<int>(MathFormat::kInt8) + 1 == kMathFormats, "profiles list one peak per math format");

StepPart part_of(const WorkForm& form) {
  switch (form.family) {
    case KernelFamily::kGemm: return form.format == nullptr || form.format->name == std::string_view("bf16") ? StepPart::kGemmBf16 : StepPart::kGemm;
    case KernelFamily::kGroupedGemm: return StepPart::kGrouped;
    case KernelFamily::kAttentionPrefill: return StepPart::kAttentionPrefill;
    case KernelFamily::kAttentionDecode: return StepPart::kAttentionDecode;
    case KernelFamily::kScan: return StepPart::kScan;
    default: return StepPart::kElementwise;
  }
}

std::string format_name(const WorkForm& form) { return form.format != nullptr ? std::string(form.format->name) : "bf16"; }

// What a row of the family is called by: small operations by what they are, others by their format.
std::string row_name(const WorkForm& form, OpKind op) {
  switch (form.family) {
    case KernelFamily::kElementwise:
    case KernelFamily::kCacheWrite:
    case KernelFamily::kSampling:
    case KernelFamily::kScan: return op_name(op);
    default: return format_name(form);
  }
}

// A fused pass is no launch either: the fixed cost of elementwise kernels goes with their number.
StepPart fixed_part_of(StepPart part) {
  if (part == StepPart::kGrouped) return StepPart::kGroupedFixed;
  return part == StepPart::kElementwise ? part : StepPart::kLaunch;
}

// Bytes per element of a product's input, as the product reads it.
double input_bytes(const NumberFormat& format) { return format.weight_only ? 2 : format.bytes_per_element(); }

// The experts' row: 4-bit weights meet 8-bit activations where the machine has a kernel for that, else bf16 ones.
const KernelModel* experts_model(const WorkForm& form, const KernelPricer& kernels, bool* narrow) {
  const KernelModel* row = kernels.model("grouped_gemm", format_name(form) + "_mxfp8");
  *narrow = row != nullptr;
  return row != nullptr ? row : kernels.model("grouped_gemm", format_name(form));
}

// The fitted row that answers for the node, and its curve. Products of one node share their input: one wide product.
void attach_model(const WorkForm& form, const CollectivePricer& collectives, const ExpertLoadModel* experts, CompiledWork& out) {
  const KernelPricer& kernels = collectives.kernels();
  if (form.family == KernelFamily::kGemm && !form.products.empty()) {
    out.model = kernels.model("gemm", format_name(form));
    if (out.model == nullptr) return;
    GemmShape shape{.k = static_cast<double>(form.products.front().k), .batch = static_cast<double>(form.products.front().batch)};
    for (const ProductShape& product : form.products) shape.n += static_cast<double>(product.n * product.batch * product.k) / (shape.k * shape.batch);
    shape.weight_bytes = form.weight_bytes / (shape.n * shape.k * shape.batch);
    shape.input_bytes = input_bytes(*form.format);
    out.curve = &kernels.gemm(*out.model, shape, out.device);
  } else if (form.grouped) {
    bool narrow = false;
    out.model = experts_model(form, kernels, &narrow);
    if (out.model != nullptr) out.curve = &kernels.experts(*out.model, form.experts, *experts, out.device);
  } else if (form.attention.heads > 0) {
    out.model = kernels.attention_model(family_name(form.family), format_name(form), form.attention);
    if (out.model != nullptr && form.family == KernelFamily::kAttentionDecode) out.plane = &kernels.decode_attention(*out.model, form.attention, out.device);
  }
}

CompiledWork compile_work(const WorkForm& form, OpKind op, const CollectivePricer& collectives, const ExpertLoadModel* experts, SymbolTable& symbols) {
  const HardwareProfile& hardware = collectives.hardware();
  CompiledWork out;
  out.family = form.family;
  out.part = part_of(form);
  out.fixed_part = fixed_part_of(out.part);
  for (const WorkTerm& term : form.terms) out.terms.push_back({symbols.index(term.symbol), term.flops, term.bytes, term.kv_bytes});
  out.weight_bytes = form.weight_bytes;
  out.grouped = form.grouped;
  out.tokens_ratio = form.tokens_ratio;
  out.flops_per_row = form.flops_per_row;
  out.bytes_per_row = form.bytes_per_row;
  out.bytes_per_expert = form.bytes_per_expert;
  const bool attends = form.family == KernelFamily::kAttentionPrefill || form.family == KernelFamily::kAttentionDecode;
  bool narrow = false;
  if (form.grouped) (void)experts_model(form, collectives.kernels(), &narrow);
  const double peak = narrow ? hardware.device.peak[static_cast<std::size_t>(MathFormat::kFp8)].value()
                             : math_peak(hardware.device, attends ? nullptr : form.format).value();
  const double bandwidth = hardware.device.memory_bandwidth.value();
  if (collectives.mode() == PriceMode::kSpeedOfLight) {
    out.seconds_per_flop = 1 / peak;
    out.seconds_per_byte = 1 / bandwidth;
    return out;
  }
  out.device = {static_cast<double>(hardware.device.sm_count), peak * 1e-6, bandwidth * 1e-6};
  out.attention = form.attention;
  out.own_kernel = form.own_kernel;
  attach_model(form, collectives, experts, out);
  if (out.model != nullptr) {
    out.seconds_per_flop = 1 / (peak * hardware.device.sustained);
    out.seconds_per_byte = 1 / bandwidth;
    out.fixed = form.own_kernel ? out.model->parameters.front() * 1e-6 : 0;
    return out;
  }
  const KernelCoefficients& c = kernel_coefficients(hardware, family_name(form.family), row_name(form, op));
  out.seconds_per_flop = 1 / (peak * c.compute_efficiency);
  out.seconds_per_byte = 1 / (bandwidth * c.memory_efficiency);
  out.fixed = form.own_kernel ? c.fixed.value() : 0;
  return out;
}

// Digits of the group and of the rest of the stage as device strides.
GroupShape group_shape(const StepGraph& graph, DigitSet group, const std::vector<GroupShape::Axis>& axes) {
  GroupShape shape;
  for (Digit d = 0; d < graph.mesh.digit_count(); ++d) (group.contains(d) ? shape.members : shape.repeats).push_back(axes[d]);
  return shape;
}

double lse_share(const StepGraph& graph, const Node& node) {
  if (node.kind == NodeKind::kLseGather) return 1;
  if (graph.value(node.inputs[0]).placement.lse.empty()) return 0;
  const Tensor& tensor = graph.tensor_of(node.inputs[0]);
  const double width = static_cast<double>(tensor.dims.back().extent) * element_bytes(tensor);
  return static_cast<double>(kLseBytes) / (static_cast<double>(kLseBytes) + width);
}

CompiledTraffic compile_traffic(const StepGraph& graph, const Node& node, const CollectivePricer& collectives,
                                const ExpertLoadModel* experts, SymbolTable& symbols, const std::vector<GroupShape::Axis>& axes,
                                const GroupShape& boundary) {
  CompiledTraffic out;
  out.form = traffic_form(graph, node, experts);
  out.symbol = symbols.index(out.form.symbol);
  out.lse_ratio = lse_share(graph, node) * out.form.sent_ratio;
  if (node.kind == NodeKind::kSend) {
    out.curve = &collectives.curve(out.form.kind, boundary, 1);
    return out;
  }
  double moved = std::max(out.form.sent_ratio, out.form.received_ratio);
  if (node.kind == NodeKind::kRingAttention) {
    out.hops = out.form.group_size - 1;
    moved = out.form.message_ratio;
  }
  const double ratio = out.form.message_ratio > 0 ? moved / out.form.message_ratio : 0;
  const double message = std::max(out.form.message_ratio, 1e-30);
  const GroupShape group = group_shape(graph, node.group, axes);
  TokenCopies tokens{out.form.token_ratio / message, out.form.experts_per_token};
  out.curve = &collectives.curve(out.form.kind, group, ratio, tokens);
  if (out.form.token_ratio <= 0) return out;
  tokens.captured = true;
  out.captured = &collectives.curve(out.form.kind, group, ratio, tokens);
  return out;
}

// Rooflines that were not fitted on this kernel: an estimate.
constexpr Spread kUnfitted{0.7, 1.4};

Spread spread_of(const CompiledWork& work, const SymbolTable::Values& values) {
  if (work.model == nullptr) return kUnfitted;
  const auto value = [&](std::size_t term) { return values[static_cast<std::size_t>(work.terms[term].symbol)]; };
  return spread_at(*work.model, work.family == KernelFamily::kAttentionDecode ? value(1) : value(0) * work.tokens_ratio);
}

// The norm that reads the residual which `value` is added to: of this layer, or the first of the next one, which is taken
// to be like this one's. -1: none.
std::int32_t norm_behind(const StepGraph& graph, ValueId value) {
  if (value == graph.residual_out) value = graph.residual_in;
  ValueId sum = -1;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    if (node.kind != NodeKind::kCompute || std::find(node.inputs.begin(), node.inputs.end(), value) == node.inputs.end()) continue;
    const LogicalOp& op = graph.op_of(node);
    if (op.kind == OpKind::kNorm && op.own_kernel) return static_cast<std::int32_t>(i);
    if (op.kind == OpKind::kAdd) sum = node.outputs[0];
  }
  return sum < 0 || value == graph.residual_in ? -1 : norm_behind(graph, sum);
}

const char* bound_of(const CompiledWork& work, const NodeWork& done) {
  const double compute = done.flops * work.seconds_per_flop;
  const double memory = done.bytes * work.seconds_per_byte;
  if (work.fixed > std::max(compute, memory)) return "fixed";
  return compute > memory ? "compute" : "memory";
}

}  // namespace

FlopsPerSecond math_peak(const DeviceSpec& device, const NumberFormat* format) {
  const FlopsPerSecond bf16 = device.peak[static_cast<std::size_t>(MathFormat::kBf16)];
  if (format == nullptr || format->weight_only) return bf16;
  const FlopsPerSecond peak = device.peak[static_cast<std::size_t>(format->math)];
  return peak.value() > 0 ? peak : bf16;
}

std::int32_t SymbolTable::index(const Symbol& symbol) {
  for (std::size_t i = 0; i < symbols_.size(); ++i) {
    if (symbols_[i] == symbol) return static_cast<std::int32_t>(i);
  }
  ensure(symbols_.size() < kMost, "too many symbols in one form");
  symbols_.push_back(symbol);
  return static_cast<std::int32_t>(symbols_.size()) - 1;
}

void SymbolTable::evaluate_all(const BatchShape& shape, Values& values, Values& means) const {
  for (std::size_t i = 0; i < symbols_.size(); ++i) {
    values[i] = evaluate(symbols_[i], shape);
    const bool pairs = symbols_[i].kind == SymbolKind::kPrefillPairs || symbols_[i].kind == SymbolKind::kRingPairs;
    means[i] = pairs ? evaluate_mean(symbols_[i], shape) : values[i];
  }
}

CompiledGraph::CompiledGraph(const StepGraph& graph, const CompileFor& target, SymbolTable& symbols,
                             const std::vector<GroupShape::Axis>& device_axes, const GroupShape& boundary)
    : graph_(&graph), experts_(target.experts) {
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    CompiledNode compiled{static_cast<std::int32_t>(i), std::nullopt, std::nullopt};
    if (computes(node.kind)) {
      const WorkForm form = work_form(graph, node);
      if (form.terms.empty()) continue;   // views
      compiled.work = compile_work(form, graph.op_of(node).kind, target.collectives, target.experts, symbols);
    }
    if (communicates(node.kind)) {
      compiled.traffic = compile_traffic(graph, node, target.collectives, target.experts, symbols, device_axes, boundary);
    }
    if (compiled.work || compiled.traffic) nodes_.push_back(std::move(compiled));
  }
  if (!target.fused.limits.empty()) fuse_norms(target, device_axes);
}

void CompiledGraph::fuse_norms(const CompileFor& target, const std::vector<GroupShape::Axis>& axes) {
  for (CompiledNode& reduce : nodes_) {
    const Node& node = graph_->nodes[static_cast<std::size_t>(reduce.node)];
    if (node.kind != NodeKind::kAllReduce) continue;
    const double limit = target.fused.limit_of(reduce.traffic->form.group_size);
    const std::int32_t norm = limit > 0 ? norm_behind(*graph_, node.outputs[0]) : -1;
    const auto compiled = std::find_if(nodes_.begin(), nodes_.end(), [norm](const CompiledNode& n) { return n.node == norm; });
    if (norm < 0 || compiled == nodes_.end() || !compiled->work) continue;
    const TrafficForm& form = reduce.traffic->form;
    const double ratio = form.message_ratio > 0 ? std::max(form.sent_ratio, form.received_ratio) / form.message_ratio : 0;
    const CollectiveCurve& curve = target.collectives.curve(form.kind, group_shape(*graph_, node.group, axes), ratio, {}, true);
    if (curve.links().nodes > 1 || !curve.links().peer_access) continue;   // such kernels read their peers' memory
    reduce.traffic->fused = &curve;
    reduce.traffic->fused_limit = limit;
    compiled->work->fused = {reduce.traffic->symbol, form.message_ratio, limit};
  }
}

NodeWork CompiledGraph::work(const CompiledWork& work, const SymbolTable::Values& values, const SymbolTable::Values& means,
                             double share) const {
  NodeWork out;
  double mean_flops = 0;
  bool active = false;
  for (const CompiledWork::Term& term : work.terms) {
    const double value = share * values[static_cast<std::size_t>(term.symbol)];
    active = active || value > 0;
    out.flops += term.flops * value;
    out.bytes += term.bytes * value;
    out.kv_bytes += term.kv_bytes * value;
    mean_flops += term.flops * share * means[static_cast<std::size_t>(term.symbol)];
  }
  // An attention node without queries has no work, whatever lies in the cache.
  if (!active || values[static_cast<std::size_t>(work.terms.front().symbol)] <= 0) return {};
  out.bytes += work.weight_bytes;
  double mean_bytes = out.bytes;
  if (work.grouped) {
    const double tokens = share * values[static_cast<std::size_t>(work.terms.front().symbol)] * work.tokens_ratio;
    const double rows = experts_->busiest_rows(tokens);
    const double mean_rows = experts_->mean_rows(tokens);
    const double hits = experts_->busiest_hits(tokens);
    out.flops = rows * work.flops_per_row;
    out.bytes = rows * work.bytes_per_row + hits * work.bytes_per_expert;
    mean_flops = mean_rows * work.flops_per_row;
    mean_bytes = mean_rows * work.bytes_per_row + hits * work.bytes_per_expert;
  }
  out.fixed = work.fixed;
  const double bound = std::max(out.flops * work.seconds_per_flop, out.bytes * work.seconds_per_byte);
  const double mean_bound = std::min(bound, std::max(mean_flops * work.seconds_per_flop, mean_bytes * work.seconds_per_byte));
  out.seconds = bound;
  out.mean_seconds = mean_bound;
  if (work.model != nullptr) {
    out.seconds = std::max(model_seconds(work, values, share) - work.model->parameters.front() * 1e-6, bound);
    out.mean_seconds = bound > 0 ? out.seconds * (mean_bound / bound) : out.seconds;
  }
  const double factor = values.factors[index_of(work.part)];
  out.seconds *= factor;
  out.mean_seconds *= factor;
  out.fixed *= values.factors[index_of(work.fixed_part)];
  if (work.fused.limit > 0 && share * work.fused.ratio * values[static_cast<std::size_t>(work.fused.symbol)] <= work.fused.limit) out.fixed = 0;
  return out;
}

double CompiledGraph::model_seconds(const CompiledWork& work, const SymbolTable::Values& values, double share) const {
  const auto value = [&](std::size_t term) { return share * values[static_cast<std::size_t>(work.terms[term].symbol)]; };
  const double* parameters = work.model->parameters.data();
  const AttentionShape& a = work.attention;
  if (work.curve != nullptr) return work.curve->us(value(0) * work.tokens_ratio) * 1e-6;
  if (work.plane != nullptr) {
    const double each = values.decode_tokens;
    const double sequences = value(0) / each;
    if (each <= 1) return work.plane->us(sequences, value(1) / sequences) * 1e-6;
    // Tokens of a sequence read its cache together, like as many more query heads.
    return decode_attention_us({.batch = sequences, .positions = value(1) / sequences, .heads = each * a.heads, .kv_heads = a.kv_heads,
                                .qk_dim = a.qk_dim, .v_dim = a.v_dim, .position_bytes = a.position_bytes}, work.device, parameters) * 1e-6;
  }
  const double prompts = std::max(value(3), 1e-9);
  return context_attention_us({.batch = prompts, .tokens = value(0) / prompts, .keys = value(1) / prompts, .pairs = value(2) / prompts,
                               .heads = a.heads, .kv_heads = a.kv_heads, .qk_dim = a.qk_dim, .v_dim = a.v_dim,
                               .key_bytes = a.position_bytes / (a.qk_dim + a.v_dim), .window = a.window}, work.device, parameters) * 1e-6;
}

double CompiledGraph::traffic_seconds(const CompiledTraffic& traffic, const SymbolTable::Values& values, double share) const {
  const double message = moved_bytes(traffic.form, experts_, share * values[static_cast<std::size_t>(traffic.symbol)]).busiest;
  if (message <= 0) return 0;
  return values.factors[index_of(StepPart::kCollective)] * static_cast<double>(traffic.hops) * traffic.curve_of(values, message).time(message).value();
}

void CompiledGraph::add_node(const CompiledNode& node, const SymbolTable::Values& values, const SymbolTable::Values& means,
                             StepTime& total) const {
  NodeWork done;
  double sent = 0;
  if (node.work) done = work(*node.work, values, means, 1);
  if (node.traffic) sent = traffic_seconds(*node.traffic, values, 1);
  double exposed = sent;
  if (node.work && node.traffic && sent > 0) {   // ring: each hop hides behind the attention on the block in hand
    const auto steps = static_cast<double>(node.traffic->hops + 1);
    exposed = (steps - 1) * std::max(0.0, sent / (steps - 1) - done.seconds / steps);
  }
  total.compute += Seconds(done.mean_seconds);
  total.wait += Seconds(done.seconds - done.mean_seconds);
  total.overhead += Seconds(done.fixed);
  total.communication += Seconds(sent);
  total.exposed_communication += Seconds(exposed);
  total.seconds += Seconds(done.seconds + done.fixed + exposed);
  if (node.work) {
    total.parts[index_of(node.work->part)] += done.seconds;
    total.parts[index_of(node.work->fixed_part)] += done.fixed;
  }
  total.parts[index_of(StepPart::kCollective)] += exposed;
}

// Kernels and exchanges of a pair that is cut into parts, one part's exchange behind the next part's kernels.
struct CompiledGraph::Pair {
  double kernels = 0;         // as one piece, fixed cost included
  double exchange = 0;
  double part_kernels = 0;    // of one part: fixed costs and what every part reads again included
  double part_exchange = 0;   // of one part: its latency included
};

CompiledGraph::Pair CompiledGraph::pair(const SymbolTable::Values& values, const SymbolTable::Values& means, double parts, bool experts) const {
  Pair out;
  for (const CompiledNode& node : nodes_) {
    const NodeKind kind = graph_->nodes[static_cast<std::size_t>(node.node)].kind;
    const bool exchanges = experts ? kind == NodeKind::kDispatch || kind == NodeKind::kCombine : kind == NodeKind::kLseExchange;
    if (exchanges) {
      out.exchange += traffic_seconds(*node.traffic, values, 1);
      out.part_exchange += traffic_seconds(*node.traffic, values, 1 / parts);
    }
    if (kind != NodeKind::kCompute || !node.work) continue;
    if (experts ? !node.work->grouped : node.work->family != KernelFamily::kAttentionDecode) continue;
    const NodeWork whole = work(*node.work, values, means, 1);
    const NodeWork part = work(*node.work, values, means, 1 / parts);
    out.kernels += whole.seconds + whole.fixed;
    out.part_kernels += part.seconds + part.fixed;
  }
  return out;
}

// HOP-B (decode attention with its LSE exchange) and expert overlap (dispatch and combine with the experts' products):
// n parts of kernels a and exchange e take n*max(a,e) + min(a,e). A fused kernel is many parts that read weights once.
void CompiledGraph::apply_overlaps(const SymbolTable::Values& values, const SymbolTable::Values& means, StepTime& total) const {
  constexpr double kFusedParts = 16;
  const auto overlap = [&](double parts, bool experts, bool fused) {
    Pair cut = pair(values, means, parts, experts);
    if (cut.exchange <= 0) return;
    if (fused) {
      cut.part_kernels = cut.kernels / parts;
      cut.part_exchange = cut.exchange / parts;
    }
    const double time = parts * std::max(cut.part_kernels, cut.part_exchange) + std::min(cut.part_kernels, cut.part_exchange);
    const double kernels = parts * cut.part_kernels;
    total.seconds += Seconds(time - cut.kernels - cut.exchange);
    total.communication += Seconds(parts * cut.part_exchange - cut.exchange);
    total.exposed_communication += Seconds(time - kernels - cut.exchange);
    total.overhead += Seconds(kernels - cut.kernels);
    total.parts[index_of(StepPart::kCollective)] += time - kernels - cut.exchange;
    total.parts[index_of(experts ? StepPart::kGroupedFixed : StepPart::kAttentionDecode)] += kernels - cut.kernels;
  };
  if (graph_->hop_b > 1) overlap(static_cast<double>(graph_->hop_b), false, false);
  if (graph_->overlap == Overlap::kFused) overlap(kFusedParts, true, true);
  else if (graph_->overlap != Overlap::kNone) overlap(static_cast<double>(graph_->overlap_parts), true, false);
}

StepTime CompiledGraph::time(const SymbolTable::Values& values, const SymbolTable::Values& means) const {
  StepTime total;
  for (const CompiledNode& node : nodes_) add_node(node, values, means, total);
  if (graph_->hop_b > 1 || graph_->overlap != Overlap::kNone) apply_overlaps(values, means, total);
  return total;
}

void CompiledGraph::describe(const SymbolTable::Values& values, const SymbolTable::Values& means, std::int64_t count,
                             StepBreakdown& out, const char* prefix) const {
  for (const CompiledNode& node : nodes_) {
    const Node& source = graph_->nodes[static_cast<std::size_t>(node.node)];
    if (node.work) {
      const NodeWork done = work(*node.work, values, means, 1);
      if (done.seconds + done.fixed > 0) {
        out.ops.push_back({std::string(prefix) + graph_->op_of(source).name, count, Flops(done.flops), done.bytes, done.kv_bytes,
                           Seconds(done.seconds + done.fixed), bound_of(*node.work, done), node.work->part, spread_of(*node.work, values)});
      }
    }
    if (!node.traffic) continue;
    const double units = values[static_cast<std::size_t>(node.traffic->symbol)];
    const MovedBytes moved = moved_bytes(node.traffic->form, experts_, units);
    if (moved.message <= 0) continue;
    const CollectivePrice price = node.traffic->curve_of(values, moved.busiest).direct(moved.busiest);
    out.collectives.push_back({std::string(prefix) + graph_->tensor_of(source.inputs[0]).name, node_kind_name(source.kind), std::string(price.algorithm) + (node.traffic->is_fused(moved.message) ? "+norm" : ""),
                               node.traffic->form.group_size, count, moved.message, moved.sent,
                               node.traffic->lse_ratio * units, Seconds(traffic_seconds(*node.traffic, values, 1)), price.spread});
  }
}

}  // namespace shardplan
