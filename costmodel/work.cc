#include "costmodel/work.h"

#include <algorithm>

#include "base/errors.h"
#include "costmodel/traffic.h"

namespace shardplan {
namespace {

double value_bytes(const StepGraph& graph, ValueId id) {
  const Tensor& tensor = graph.tensor_of(id);
  return static_cast<double>(fixed_elements(graph, tensor, graph.value(id).placement)) * element_bytes(tensor);
}

Symbol value_symbol(const StepGraph& graph, ValueId id) { return ragged_symbol(graph, graph.tensor_of(id), graph.value(id).placement); }

// Reads its inputs and writes its outputs, nothing else.
WorkForm streaming(const StepGraph& graph, const Node& node, KernelFamily family) {
  WorkForm form{.family = family};
  for (const ValueId id : node.inputs) {
    if (graph.tensor_of(id).lifetime == Lifetime::kActivation) form.terms.push_back({value_symbol(graph, id), 0, value_bytes(graph, id), 0});
  }
  for (const ValueId id : node.outputs) {
    if (graph.tensor_of(id).lifetime == Lifetime::kActivation) form.terms.push_back({value_symbol(graph, id), 0, value_bytes(graph, id), 0});
  }
  return form;
}

WorkForm cache_write(const StepGraph& graph, const Node& node) {
  WorkForm form{.family = KernelFamily::kCacheWrite};
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const Tensor& cache = graph.tensor_of(node.outputs[i]);
    const auto stored = static_cast<double>(fixed_elements(graph, cache, graph.value(node.outputs[i]).placement)) * element_bytes(cache);
    form.terms.push_back({value_symbol(graph, node.inputs[i]), 0, value_bytes(graph, node.inputs[i]) + stored, 0});
  }
  return form;
}

WorkForm embedding(const StepGraph& graph, const Node& node) {
  WorkForm form{.family = KernelFamily::kElementwise};
  form.terms.push_back({value_symbol(graph, node.outputs[0]), 0, 2 * value_bytes(graph, node.outputs[0]), 0});
  return form;
}

double bias_bytes(const StepGraph& graph, const Node& node) {
  double bytes = 0;
  for (const ValueId id : node.biases) {
    if (id >= 0) bytes += value_bytes(graph, id);
  }
  return bytes;
}

// Local extents of one product by the roles of the weight's dimensions.
ProductShape product_shape(const StepGraph& graph, const Tensor& weight, const Placement& placement, const Tensor& x, const Tensor& out) {
  ProductShape shape{1, 1, 1};
  for (const DimExtent& dim : weight.dims) {
    const std::int64_t held = max_held(graph.mesh, placement.of(dim.dim), dim.extent);
    const bool in_x = x.has(dim.dim);
    const bool in_out = out.has(dim.dim);
    if (in_x && in_out) shape.batch *= held;
    else if (in_x) shape.k *= held;
    else shape.n *= held;
  }
  return shape;
}

WorkForm product(const StepGraph& graph, const Node& node) {
  WorkForm form{.family = KernelFamily::kGemm, .weight_bytes = bias_bytes(graph, node)};
  const Symbol rows = value_symbol(graph, node.inputs[0]);
  form.terms.push_back({rows, 0, value_bytes(graph, node.inputs[0]), 0});
  for (std::size_t i = 0; i < node.weights.size(); ++i) {
    const Tensor& weight = graph.tensor_of(node.weights[i]);
    const Placement& placement = graph.value(node.weights[i]).placement;
    const Tensor& x = graph.tensor_of(node.inputs[0]);
    const bool routes = graph.op_of(node).kind == OpKind::kRoute;
    const Tensor& out = graph.tensor_of(node.outputs[i]);
    const ProductShape shape = product_shape(graph, weight, placement, x, out);
    form.products.push_back(shape);
    form.weight_bytes += held_weight_bytes(graph, weight, placement);
    form.format = weight.format;
    const double flops = 2.0 * static_cast<double>(shape.n) * static_cast<double>(shape.k) * static_cast<double>(shape.batch);
    const double written = routes ? static_cast<double>(shape.n) * 4 : value_bytes(graph, node.outputs[i]);
    form.terms.push_back({rows, flops, written, 0});
  }
  return form;
}

// Bytes of K and V (or the shared latent) per position on the rank.
double kv_position_bytes(const StepGraph& graph, const Node& node, std::size_t first, std::size_t count) {
  double bytes = 0;
  for (std::size_t i = first; i < first + count && i < node.inputs.size(); ++i) bytes += value_bytes(graph, node.inputs[i]);
  return bytes;
}

// One set of keys that queries attend to: those of every position, or compressed entries.
struct KeySet {
  std::size_t input = 1;
  std::int64_t seen = 0;     // positions back that a query attends to (0: all); of a selection as many
  std::int64_t read = 0;     // the same of what a prefill's queries together read
  double pair_flops = 0;     // per position
};

std::vector<KeySet> key_sets(const AttentionOp& op, double pair_flops) {
  if (op.entry_tokens == 0) return {{1, op.window > 0 ? op.window : op.top_k, op.window, pair_flops}};
  const bool decode = op.phase == Phase::kDecode;
  return {{1, op.window, op.window, pair_flops},
          {decode ? std::size_t{2} : std::size_t{3}, op.top_k * op.entry_tokens, 0, pair_flops / static_cast<double>(op.entry_tokens)}};
}

void add_keys(const StepGraph& graph, const Node& node, const KeySet& set, WorkForm& form) {
  const AttentionOp& op = graph.op_of(node).attention;
  const double kv = kv_position_bytes(graph, node, set.input, op.shared_kv ? 1 : 2);
  Symbol pairs;
  pairs.window = set.seen;
  pairs.causal = op.causal;
  pairs.phase = op.phase;
  if (op.phase == Phase::kDecode) {
    pairs.kind = SymbolKind::kDecodePairs;
    pairs.list = graph.value(node.inputs[set.input]).placement.of(Dim::kPositions);
    pairs.split = ragged_split(graph.mesh, pairs.list, graph.interleave_of(graph.tensor_of(node.inputs[set.input])));
    // The tokens of a sequence read its keys together, but each gathers its own choice.
    const bool chosen = op.top_k > 0 && set.seen == op.top_k * std::max<std::int64_t>(1, op.entry_tokens);
    Symbol positions = pairs;
    if (!chosen) positions.kind = SymbolKind::kDecodePositions;
    form.terms.push_back({positions, 0, kv, kv});
    form.terms.push_back({pairs, set.pair_flops, 0, 0});
    return;
  }
  pairs.list = graph.value(node.inputs[0]).placement.of(Dim::kTokens);
  pairs.split = ragged_split(graph.mesh, pairs.list, graph.cp_interleave);
  Symbol keys = pairs;
  keys.kind = SymbolKind::kKeyPositions;
  keys.window = set.read;   // the choices of many queries together are all keys
  form.terms.push_back({keys, 0, kv, kv});
  pairs.kind = node.kind == NodeKind::kRingAttention ? SymbolKind::kRingPairs : SymbolKind::kPrefillPairs;
  form.terms.push_back({pairs, set.pair_flops, 0, 0});
}

// What a fitted row needs to know. Sparse and compressed attention have none: positions are gathered one by one.
AttentionShape attention_shape(const StepGraph& graph, const Node& node, double heads) {
  const AttentionOp& op = graph.op_of(node).attention;
  if (op.top_k > 0 || op.entry_tokens > 0) return {};
  const Placement& keys_placement = graph.value(node.inputs[1]).placement;
  const Tensor& keys = graph.tensor_of(node.inputs[1]);
  AttentionShape shape{.heads = heads, .kv_heads = 1, .qk_dim = static_cast<double>(op.qk_dim), .v_dim = static_cast<double>(op.v_dim),
                       .window = static_cast<double>(op.window), .latent = op.shared_kv || op.qk_dim != op.v_dim};
  for (const Dim dim : {Dim::kKvHeads, Dim::kHeads}) {
    if (!keys.has(dim)) continue;
    shape.kv_heads = static_cast<double>(max_held(graph.mesh, keys_placement.of(dim), keys.extent(dim)));
    break;
  }
  shape.position_bytes = kv_position_bytes(graph, node, 1, op.shared_kv ? 1 : 2) / shape.kv_heads;
  return shape;
}

WorkForm attention(const StepGraph& graph, const Node& node) {
  const AttentionOp& op = graph.op_of(node).attention;
  const bool decode = op.phase == Phase::kDecode;
  WorkForm form{.family = decode ? KernelFamily::kAttentionDecode : KernelFamily::kAttentionPrefill};
  const Tensor& q = graph.tensor_of(node.inputs[0]);
  const auto heads = static_cast<double>(max_held(graph.mesh, graph.value(node.inputs[0]).placement.of(Dim::kHeads), q.extent(Dim::kHeads)));
  // A cached prefix is read in the cache's format.
  const bool cached = !decode && op.entry_tokens == 0 && node.inputs.size() > 3;
  form.format = decode ? graph.tensor_of(node.inputs[1]).format : cached ? graph.tensor_of(node.inputs[op.shared_kv ? 2 : 3]).format : q.format;
  form.terms.push_back({value_symbol(graph, node.inputs[0]), 0, value_bytes(graph, node.inputs[0]) + value_bytes(graph, node.outputs[0]), 0});
  for (const KeySet& set : key_sets(op, 2.0 * static_cast<double>(op.qk_dim + op.v_dim) * heads)) add_keys(graph, node, set, form);
  form.attention = attention_shape(graph, node, heads);
  if (!decode) {
    Symbol prompts = form.terms.back().symbol;
    prompts.kind = SymbolKind::kPrefillSequences;
    prompts.window = 0;
    form.terms.push_back({prompts, 0, 0, 0});
  }
  return form;
}

// Keys and gates of each token go through the block's state: written once, read once by the entry that they end in.
WorkForm compress(const StepGraph& graph, const Node& node) {
  WorkForm form = streaming(graph, node, KernelFamily::kElementwise);
  const Tensor& state = graph.tensor_of(node.outputs[1]);
  const double row = 2 * static_cast<double>(graph.op_of(node).compress.columns()) * element_bytes(state);
  form.terms.push_back({value_symbol(graph, node.inputs[0]), 0, 2 * row, 0});
  return form;
}

WorkForm index(const StepGraph& graph, const Node& node) {
  const IndexOp& op = graph.op_of(node).index;
  const bool decode = op.phase == Phase::kDecode;
  const ValueId key = node.inputs[op.weighted ? 2 : 1];
  WorkForm form{.family = decode ? KernelFamily::kAttentionDecode : KernelFamily::kAttentionPrefill};
  form.format = decode ? graph.tensor_of(key).format : graph.tensor_of(node.inputs[0]).format;
  form.terms.push_back({value_symbol(graph, node.inputs[0]), 0, value_bytes(graph, node.inputs[0]) + value_bytes(graph, node.outputs[0]), 0});
  const double pair_flops = 2.0 * static_cast<double>(op.heads * op.dim) / static_cast<double>(op.every);
  Symbol pairs;
  pairs.phase = op.phase;
  pairs.kind = decode ? SymbolKind::kDecodePairs : SymbolKind::kPrefillPairs;
  pairs.list = decode ? graph.value(key).placement.of(Dim::kPositions) : graph.value(node.inputs[0]).placement.of(Dim::kTokens);
  pairs.split = ragged_split(graph.mesh, pairs.list, decode ? graph.interleave_of(graph.tensor_of(key)) : graph.cp_interleave);
  const double read = value_bytes(graph, key);
  Symbol keys = pairs;
  keys.kind = decode ? SymbolKind::kDecodePositions : SymbolKind::kKeyPositions;
  form.terms.push_back({keys, 0, read, read});
  form.terms.push_back({pairs, pair_flops, 0, 0});
  return form;
}

WorkForm scan(const StepGraph& graph, const Node& node) {
  const RecurrentSpec& spec = graph.op_of(node).scan;
  WorkForm form = streaming(graph, node, KernelFamily::kScan);
  const Placement& out = graph.value(node.outputs[0]).placement;
  const auto held = static_cast<double>(max_held(graph.mesh, out.of(Dim::kHeads), spec.value_heads));
  form.terms.front().flops = recurrent_flops_per_token(spec) * held / static_cast<double>(spec.value_heads);
  for (std::size_t i = 1; i < node.outputs.size(); ++i) {   // drafted tokens may be refused: the state behind each is kept
    Symbol requests = value_symbol(graph, node.outputs[i]);
    form.terms.push_back({requests, 0, value_bytes(graph, node.outputs[i]), 0});
    requests.phase = Phase::kVerified;
    form.terms.push_back({requests, 0, value_bytes(graph, node.outputs[i]), 0});
  }
  for (const ValueId id : node.weights) form.weight_bytes += held_weight_bytes(graph, graph.tensor_of(id), graph.value(id).placement);
  return form;
}

WorkForm experts(const StepGraph& graph, const Node& node) {
  const ExpertsOp& op = graph.op_of(node).experts;
  const Value& x = graph.value(node.inputs[0]);
  const Tensor& x_tensor = graph.tensor_of(node.inputs[0]);
  const Tensor& up = graph.tensor_of(node.weights[0]);
  const Placement& up_placement = graph.value(node.weights[0]).placement;
  const auto hidden = static_cast<double>(x_tensor.dims.back().extent);
  const auto width = static_cast<double>(max_held(graph.mesh, up_placement.of(Dim::kFfn), up.extent(Dim::kFfn)));
  const double matrices = op.gated ? 3 : 2;
  WorkForm form{.family = KernelFamily::kGroupedGemm, .format = up.format, .own_kernel = true, .grouped = true};
  Placement tokens = x.placement;
  if (!tokens.routed.empty()) {   // tokens of the whole group: what its ranks held before dispatch
    form.tokens_ratio = static_cast<double>(graph.mesh.size(tokens.routed));
    for (Digit d = 0; d < graph.mesh.digit_count(); ++d) {
      if (tokens.routed.contains(d)) tokens.append(Dim::kTokens, {d}, Layout::kContiguous);
    }
    tokens.routed = DigitSet();
  }
  form.terms.push_back({ragged_symbol(graph, x_tensor, tokens), 0, 0, 0});
  const double activation = element_bytes(graph.tensor_of(node.outputs[0]));
  form.flops_per_row = 2 * matrices * hidden * width;
  // Rows are gathered and scattered (permute, unpermute) and pass the wide activation once.
  form.bytes_per_row = (4 * hidden + matrices * width) * activation;
  form.bytes_per_expert = matrices * hidden * width * up.format->bytes_per_element();
  form.bytes_per_expert += bias_bytes(graph, node) / static_cast<double>(max_held(graph.mesh, up_placement.of(Dim::kExperts), op.experts));
  form.experts = {.per_token = static_cast<double>(op.per_token), .experts = static_cast<double>(op.experts), .hidden = hidden,
                  .width = width, .matrices = matrices, .weight_bytes = up.format->bytes_per_element()};
  form.products.push_back({static_cast<std::int64_t>((matrices - 1) * width), static_cast<std::int64_t>(hidden), 1});
  form.products.push_back({static_cast<std::int64_t>(hidden), static_cast<std::int64_t>(width), 1});
  return form;
}

}  // namespace

const char* family_name(KernelFamily family) {
  switch (family) {
    case KernelFamily::kGemm: return "gemm";
    case KernelFamily::kAttentionPrefill: return "attention_prefill";
    case KernelFamily::kAttentionDecode: return "attention_decode";
    case KernelFamily::kGroupedGemm: return "grouped_gemm";
    case KernelFamily::kElementwise: return "elementwise";
    case KernelFamily::kCacheWrite: return "cache_write";
    case KernelFamily::kSampling: return "sampling";
    case KernelFamily::kScan: return "scan";
  }
  return "?";
}

bool computes(NodeKind kind) { return kind == NodeKind::kCompute || kind == NodeKind::kRingAttention; }

double held_weight_bytes(const StepGraph& graph, const Tensor& tensor, const Placement& placement) {
  // Block scales follow the [rows, columns] of each matrix: experts and heads are separate matrices or whole rows of one.
  std::int64_t rows = 1;
  std::int64_t columns = 1;
  std::int64_t matrices = 1;
  for (const DimExtent& dim : tensor.dims) {
    const std::int64_t held = max_held(graph.mesh, placement.of(dim.dim), dim.extent);
    const bool output = std::find(tensor.output_dims.begin(), tensor.output_dims.end(), dim.dim) != tensor.output_dims.end();
    if (dim.dim == Dim::kExperts) matrices *= held;
    else if (output) rows *= held;
    else columns *= held;
  }
  if (tensor.part == Part::kRouter) return static_cast<double>(tensor.format->bytes(matrices, columns * rows).value());
  return static_cast<double>(matrices) * static_cast<double>(tensor.format->bytes(rows, columns).value());
}

WorkForm work_form(const StepGraph& graph, const Node& node) {
  ensure(computes(node.kind), "only computing nodes have work");
  const LogicalOp& op = graph.op_of(node);
  WorkForm form;
  switch (op.kind) {
    case OpKind::kMatmul:
    case OpKind::kRoute: form = product(graph, node); break;
    case OpKind::kAttention: form = attention(graph, node); break;
    case OpKind::kExperts: form = experts(graph, node); break;
    case OpKind::kIndex: form = index(graph, node); break;
    case OpKind::kAdmit:
    case OpKind::kChoose: form = streaming(graph, node, KernelFamily::kElementwise); break;
    case OpKind::kCompress: form = compress(graph, node); break;
    case OpKind::kStreamsIn:
    case OpKind::kStreamsOut: form = streaming(graph, node, KernelFamily::kElementwise); break;
    case OpKind::kScan: form = scan(graph, node); break;
    case OpKind::kEmbed: form = embedding(graph, node); break;
    case OpKind::kAppend: form = cache_write(graph, node); break;
    case OpKind::kSample: form = streaming(graph, node, KernelFamily::kSampling); break;
    case OpKind::kSplit:
    case OpKind::kJoin:
    case OpKind::kPrefix:
    case OpKind::kRegroup:
    case OpKind::kLast: form = WorkForm{.own_kernel = false}; break;   // views
    case OpKind::kNorm: form = op.own_kernel ? streaming(graph, node, KernelFamily::kElementwise) : WorkForm{}; break;   // fused: with its reader
    case OpKind::kSquares:
    case OpKind::kRotary:
    case OpKind::kActivate:
    case OpKind::kConcat:
    case OpKind::kAdd: form = streaming(graph, node, KernelFamily::kElementwise); break;
  }
  form.own_kernel = form.own_kernel && op.own_kernel;
  return form;
}

}  // namespace shardplan
