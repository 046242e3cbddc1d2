// Recurrent mixers: gated delta nets (Qwen3.5), Kimi delta attention, Mamba2. Each request has one state per value head
// and the last inputs of a short convolution, whatever its length; nothing is cached per token.
//
// One operation runs decode and prefill tokens alike: it needs the tokens of a request whole and in order, heads are
// free. Keys (in Mamba2: B and C, one for each group) play the part of KV heads. y is normalised per head, then gated.
// Sources: Gated DeltaNet, arXiv 2412.06464; Kimi Linear, arXiv 2510.26692; Mamba2, arXiv 2405.21060.
#include "costmodel/layers/builder.h"

namespace shardplan {
namespace {

struct Projections {
  TensorId q = -1;
  TensorId k = -1;
  TensorId v = -1;
  TensorId gate = -1;
  TensorId decay = -1;
  TensorId beta = -1;  // -1: Mamba2 has none
};

// A projection of low rank: down once, the same everywhere; up by heads.
TensorId low_rank(LayerBuilder& build, TensorId x, const char* down, const char* up, const char* name,
                  std::int64_t rank, DimList outputs, const NumberFormat* format) {
  const DimExtent hidden{Dim::kHidden, build.model().hidden};
  const DimExtent inner{Dim::kQueryLatent, rank};
  const TensorId narrow = build.matmul(down, x, {build.weight(down, Part::kAttention, {inner}, {hidden}, format)},
                                       {"low_rank"}, Part::kAttention)[0];
  return build.matmul(up, narrow, {build.weight(up, Part::kAttention, outputs, {inner}, format)}, {name},
                      Part::kAttention)[0];
}

Projections project(LayerBuilder& build, TensorId x, const LayerKind& kind) {
  const RecurrentSpec& spec = kind.attention.recurrent;
  const DimExtent hidden{Dim::kHidden, build.model().hidden};
  const DimList keys{{Dim::kKvHeads, spec.key_heads}, {Dim::kHeadDim, spec.key_dim}};
  const DimList values{{Dim::kHeads, spec.value_heads}, {Dim::kHeadDim, spec.value_dim}};
  const DimList scalars{{Dim::kHeads, spec.value_heads}};
  IdList weights;
  NameList names;
  const auto ask = [&](const char* weight, DimList outputs, const char* name, const NumberFormat* format) {
    weights.push_back(build.weight(weight, Part::kAttention, outputs, {hidden}, format));
    names.push_back(name);
    return weights.size() - 1;
  };
  const std::size_t q = ask("w_scan_q", keys, "scan_q", kind.formats.attention);
  const std::size_t k = ask("w_scan_k", keys, "scan_k", kind.formats.attention);
  const std::size_t v = ask("w_scan_v", values, "scan_v", kind.formats.attention);
  const bool by_key = spec.rule == RecurrentRule::kKeyGatedDelta;
  const std::size_t gate = spec.gate_rank > 0 ? 0 : ask("w_scan_gate", values, "scan_gate", kind.formats.attention);
  const std::size_t decay = by_key ? 0 : ask("w_scan_decay", scalars, "scan_decay", kind.formats.other);
  const std::size_t beta =
      spec.rule == RecurrentRule::kStateSpace ? 0 : ask("w_scan_beta", scalars, "scan_beta", kind.formats.other);
  const IdList made = build.matmul("scan_in", x, weights, names, Part::kAttention);
  Projections result{.q = made[q], .k = made[k], .v = made[v]};
  result.gate = gate > 0 ? made[gate]
                         : low_rank(build, x, "w_gate_down", "w_gate_up", "scan_gate", spec.gate_rank, values,
                                    kind.formats.attention);
  const DimList decays{{Dim::kHeads, spec.value_heads}, {Dim::kHeadDim, spec.key_dim}};
  result.decay = decay > 0 ? made[decay]
                           : low_rank(build, x, "w_decay_down", "w_decay_up", "scan_decay", spec.value_dim, decays,
                                      kind.formats.attention);
  if (beta > 0) result.beta = made[beta];
  return result;
}

// Vectors of one value head: a_log, dt_bias (one per key column in KDA), in Mamba2 the skip.
std::int64_t head_vectors(const RecurrentSpec& spec) {
  if (spec.rule == RecurrentRule::kKeyGatedDelta) return spec.key_dim + 1;
  return spec.rule == RecurrentRule::kStateSpace ? 3 : 2;
}

}  // namespace

TensorId build_recurrent(LayerBuilder& build, TensorId x, const LayerKind& kind) {
  const RecurrentSpec& spec = kind.attention.recurrent;
  const Projections in = project(build, x, kind);
  const DimExtent key_heads{Dim::kKvHeads, spec.key_heads};
  const DimExtent value_heads{Dim::kHeads, spec.value_heads};
  const NumberFormat* state_format = find_format(spec.state_bits == 32 ? "fp32" : "bf16");
  const std::int64_t taps = spec.conv_width + (spec.conv_bias ? 1 : 0);
  const std::int64_t kept = spec.conv_width - 1;
  LogicalOp op{.kind = OpKind::kScan, .name = "scan", .inputs = {in.q, in.k, in.v, in.decay}};
  if (in.beta >= 0) op.inputs.push_back(in.beta);
  op.weights = {build.weight("w_conv_k", Part::kAttention, {key_heads, {Dim::kHeadDim, 2 * spec.key_dim * taps}}, {},
                             kind.formats.other),
                build.weight("w_conv_v", Part::kAttention, {value_heads, {Dim::kHeadDim, spec.value_dim * taps}}, {},
                             kind.formats.other),
                build.weight("w_scan_head", Part::kAttention, {value_heads, {Dim::kHeadDim, head_vectors(spec)}}, {},
                             kind.formats.other)};
  const TensorId y = build.activation("scan_out", Part::kAttention, {value_heads, {Dim::kHeadDim, spec.value_dim}});
  op.outputs = {
      y, build.state("state", {value_heads, {Dim::kHeadDim, spec.key_dim * spec.value_dim}}, state_format),
      build.state("state_conv_k", {key_heads, {Dim::kHeadDim, 2 * spec.key_dim * kept}}, build.formats().activation),
      build.state("state_conv_v", {value_heads, {Dim::kHeadDim, spec.value_dim * kept}}, build.formats().activation)};
  op.scan = spec;
  build.graph.op(std::move(op));
  const TensorId normed = build.norm("scan_normed", y);
  const TensorId gated = build.gate("scan_gated", in.gate, normed, ElementFunction::kSilu);
  const TensorId w_o = build.weight("w_o", Part::kAttention, {{Dim::kHidden, build.model().hidden}},
                                    {value_heads, {Dim::kHeadDim, spec.value_dim}}, kind.formats.attention_output);
  return build.matmul("o_proj", gated, {w_o}, {"attention_out"}, Part::kAttention)[0];
}

}  // namespace shardplan
