// MLA: one latent (with a rotary tail) per token is cached, shared by all heads.
//
// Decode runs absorbed: W_UK is folded into Q, attention is over the latent as one shared K and V head, W_UV comes
// after. Prefill runs expanded: the latents of fresh and cached tokens are multiplied out to K and V per head. Sparse
// attention (DSA) runs absorbed in both, over the positions that its indexer chose.
// Source: DeepSeek-V2 report, section 2.1, DeepSeek-V3.2 report; all forms give the same result and are priced as they run.
#include <algorithm>
#include <cmath>

#include "costmodel/layers/builder.h"
#include "costmodel/layers/index.h"

namespace shardplan {
namespace {

struct LatentWeights {
  TensorId w_uk = -1;   // [heads, nope | latent]
  TensorId w_uv = -1;   // [heads, v | latent]
};

TensorId per_head(LayerBuilder& build, const char* name, Dim ragged, std::int64_t heads, Dim dim, std::int64_t width, Phase phase) {
  Tensor tensor{.name = name, .part = Part::kAttention, .lifetime = Lifetime::kActivation, .phase = phase,
                .dims = {{ragged}, {Dim::kHeads, heads}, {dim, width}}, .format = build.formats().activation};
  return build.graph.add(std::move(tensor));
}

AttentionOp attention_shape(const AttentionSpec& spec, Phase phase) {
  const bool absorbed = phase == Phase::kDecode || spec.index.heads > 0;
  return {.phase = phase,
          .qk_dim = absorbed ? spec.kv_latent + spec.rope_dim : spec.nope_dim + spec.rope_dim,
          .v_dim = absorbed ? spec.kv_latent : spec.v_head_dim,
          .window = spec.window,
          .causal = true,
          .shared_kv = absorbed,
          .score_scale = 1.0 / std::sqrt(static_cast<double>(spec.nope_dim + spec.rope_dim)),
          .sinks = spec.sinks,
          .top_k = spec.index.top_k};
}

// What is cached: one latent per position, in the layout that sparse kernels read where attention is sparse.
TensorId latent_cache(LayerBuilder& build, const AttentionSpec& spec, Phase phase) {
  const TensorId id = build.cache("cache_latent", {{Dim::kKvLatent, spec.kv_latent + spec.rope_dim}}, phase, &latent_cache_format(spec, *build.formats().kv));
  build.graph.tensors[static_cast<std::size_t>(id)].window = spec.window;
  return id;
}

struct Names {
  const char* q_latent;
  const char* o_latent;
  const char* o;
};

// Attention over latents as shared K and V: W_UK folded into Q before, W_UV after. `keys`: the cache, or fresh and prefix.
TensorId attend_absorbed(LayerBuilder& build, TensorId q, const IdList& keys, TensorId selection, const LatentWeights& w,
                         const AttentionSpec& spec, Phase phase) {
  const bool decode = phase == Phase::kDecode;
  const Names names = decode ? Names{"q_latent", "o_latent", "o_decode"} : Names{"q_latent_prefill", "o_latent_prefill", "o_prefill"};
  const std::int64_t width = spec.kv_latent + spec.rope_dim;
  const TensorId q_latent = build.matmul_into("absorb_k", q, w.w_uk, per_head(build, names.q_latent, Dim::kTokens, spec.q_heads, Dim::kKvLatent, width, phase),
                                              spec.rope_dim);
  const TensorId o_latent = per_head(build, names.o_latent, Dim::kTokens, spec.q_heads, Dim::kKvLatent, spec.kv_latent, phase);
  IdList inputs{q_latent};
  for (const TensorId id : keys) inputs.push_back(id);
  AttentionOp shape = attention_shape(spec, phase);
  shape.selects = selection >= 0;
  if (shape.selects) inputs.push_back(selection);
  build.graph.op({.kind = OpKind::kAttention, .name = decode ? "attention_decode" : "attention_prefill", .inputs = inputs, .outputs = {o_latent},
                  .attention = shape});
  return build.matmul_into("absorb_v", o_latent, w.w_uv, per_head(build, names.o, Dim::kTokens, spec.q_heads, Dim::kHeadDim, spec.v_head_dim, phase), 0);
}

TensorId decode_absorbed(LayerBuilder& build, TensorId q, TensorId latent, TensorId selection, const LatentWeights& w, const AttentionSpec& spec) {
  const TensorId cache = latent_cache(build, spec, Phase::kDecode);
  build.append({latent}, {cache});
  return attend_absorbed(build, q, {cache}, selection, w, spec, Phase::kDecode);
}

TensorId prefill_absorbed(LayerBuilder& build, TensorId q, TensorId latent, TensorId selection, const LatentWeights& w, const AttentionSpec& spec) {
  const TensorId cache = latent_cache(build, spec, Phase::kPrefill);
  const TensorId cached = build.prefix("prefix_latent", cache);
  const TensorId o = attend_absorbed(build, q, {latent, cached}, selection, w, spec, Phase::kPrefill);
  build.append({latent}, {cache});
  return o;
}

struct Expanded {
  TensorId k = -1;
  TensorId v = -1;
};

Expanded expand(LayerBuilder& build, TensorId latent, const LatentWeights& w, const AttentionSpec& spec, Dim ragged, bool fresh) {
  const TensorId k = per_head(build, fresh ? "k_expanded" : "prefix_k", ragged, spec.q_heads, Dim::kHeadDim,
                              spec.nope_dim + spec.rope_dim, Phase::kPrefill);
  const TensorId v = per_head(build, fresh ? "v_expanded" : "prefix_v", ragged, spec.q_heads, Dim::kHeadDim, spec.v_head_dim, Phase::kPrefill);
  LogicalOp op{.kind = OpKind::kMatmul, .name = fresh ? "expand_kv" : "expand_prefix", .inputs = {latent},
               .weights = {w.w_uk, w.w_uv}, .outputs = {k, v}};
  op.carry = {spec.rope_dim, 0};
  build.graph.op(std::move(op));
  return {k, v};
}

TensorId prefill_expanded(LayerBuilder& build, TensorId q, TensorId latent, const LatentWeights& w, const AttentionSpec& spec) {
  const TensorId cache = latent_cache(build, spec, Phase::kPrefill);
  const Expanded fresh = expand(build, latent, w, spec, Dim::kTokens, true);
  const TensorId cached = build.prefix("prefix_latent", cache);
  const Expanded prefix = expand(build, cached, w, spec, Dim::kPositions, false);
  const TensorId o = per_head(build, "o_prefill", Dim::kTokens, spec.q_heads, Dim::kHeadDim, spec.v_head_dim, Phase::kPrefill);
  build.graph.op({.kind = OpKind::kAttention, .name = "attention_prefill", .inputs = {q, fresh.k, fresh.v, prefix.k, prefix.v},
                  .outputs = {o}, .attention = attention_shape(spec, Phase::kPrefill)});
  build.append({latent}, {cache});
  return o;
}

struct Projected {
  TensorId q = -1;        // per head
  TensorId latent = -1;   // normed
  TensorId q_in = -1;     // what q was made of: the normed query latent, or x
};

// Q per head and the normed latent, both rotated where positions are.
Projected project(LayerBuilder& build, TensorId x, const LayerKind& kind) {
  const AttentionSpec& spec = kind.attention;
  const NumberFormat* format = kind.formats.attention;
  const DimExtent hidden{Dim::kHidden, build.model().hidden};
  const DimExtent latent_dim{Dim::kKvLatent, spec.kv_latent + spec.rope_dim};
  const TensorId w_kv_a = build.weight("w_kv_a", Part::kAttention, {latent_dim}, {hidden}, format);
  const DimList q_dims{{Dim::kHeads, spec.q_heads}, {Dim::kHeadDim, spec.head_dim}};
  Projected result{.q_in = x};
  if (spec.q_latent > 0) {
    const DimExtent q_latent{Dim::kQueryLatent, spec.q_latent};
    const TensorId w_q_a = build.weight("w_q_a", Part::kAttention, {q_latent}, {hidden}, format);
    IdList biases;
    if (spec.qkv_bias) biases = {build.vector("b_q_a", Part::kAttention, {q_latent}), build.vector("b_kv_a", Part::kAttention, {latent_dim})};
    const auto down = build.matmul("qkv_down", x, {w_q_a, w_kv_a}, {"q_a", "latent_raw"}, Part::kAttention, biases);
    result.latent = build.norm("latent_normed", down[1], spec.rope_dim);
    result.q_in = build.norm("q_a_normed", down[0]);
    result.q = build.matmul("q_up", result.q_in, {build.weight("w_q_b", Part::kAttention, q_dims, {q_latent}, format)}, {"q_raw"}, Part::kAttention)[0];
  } else {
    const auto both = build.matmul("q_kv_down", x, {build.weight("w_q", Part::kAttention, q_dims, {hidden}, format), w_kv_a},
                                   {"q_raw", "latent_raw"}, Part::kAttention,
                                   spec.qkv_bias ? IdList{-1, build.vector("b_kv_a", Part::kAttention, {latent_dim})} : IdList{});
    result.q = both[0];
    result.latent = build.norm("latent_normed", both[1], spec.rope_dim);
  }
  if (!spec.rotary) return result;
  TensorId latent_rotated = -1;
  result.q = build.rotary_pair(result.q, result.latent, "q", "latent", spec.rope_dim, latent_rotated);
  result.latent = latent_rotated;
  return result;
}

}  // namespace

TensorId build_latent_attention(LayerBuilder& build, TensorId x, const LayerKind& kind) {
  const AttentionSpec& spec = kind.attention;
  const Projected in = project(build, x, kind);
  const DimExtent heads{Dim::kHeads, spec.q_heads};
  const DimExtent latent_dim{Dim::kKvLatent, spec.kv_latent};
  const DimExtent hidden{Dim::kHidden, build.model().hidden};
  const LatentWeights w{   // braces: evaluated in order
      build.weight("w_uk", Part::kAttention, {heads, {Dim::kHeadDim, spec.nope_dim}}, {latent_dim}, kind.formats.attention),
      build.weight("w_uv", Part::kAttention, {heads, {Dim::kHeadDim, spec.v_head_dim}}, {latent_dim}, kind.formats.attention)};
  const bool sparse = spec.index.heads > 0;
  const bool indexed = sparse && !spec.index.shared;
  const Indexer indexer = indexed ? build_indexer(build, x, in.q_in, kind, std::min(spec.rope_dim, spec.index.head_dim)) : Indexer{};
  TensorId decode = -1;
  TensorId prefill = -1;
  if (build.has_decode()) {
    const TensorId q_part = build.split("q_decode", in.q, Phase::kDecode);
    const TensorId latent_part = build.split("latent_decode", in.latent, Phase::kDecode);
    const TensorId selection = indexed ? select_decode(build, indexer, spec.index) : -1;
    decode = decode_absorbed(build, q_part, latent_part, selection, w, spec);
  }
  if (build.has_prefill()) {
    const TensorId q_part = build.split("q_prefill", in.q, Phase::kPrefill);
    const TensorId latent_part = build.split("latent_prefill", in.latent, Phase::kPrefill);
    const TensorId selection = indexed ? select_prefill(build, indexer, spec.index) : -1;
    prefill = sparse ? prefill_absorbed(build, q_part, latent_part, selection, w, spec) : prefill_expanded(build, q_part, latent_part, w, spec);
  }
  TensorId o = build.join("o", decode, prefill);
  const DimList o_dims{heads, {Dim::kHeadDim, spec.v_head_dim}};
  if (spec.output_gate) {
    const TensorId w_gate = build.weight("w_output_gate", Part::kAttention, o_dims, {hidden}, kind.formats.attention);
    o = build.gate("o_gated", build.matmul("output_gate", x, {w_gate}, {"output_gate"}, Part::kAttention)[0], o, ElementFunction::kSigmoid);
  }
  const TensorId w_o = build.weight("w_o", Part::kAttention, {hidden}, o_dims, kind.formats.attention_output);
  return build.matmul("o_proj", o, {w_o}, {"attention_out"}, Part::kAttention,
                      spec.output_bias ? IdList{build.vector("b_o", Part::kAttention, {hidden})} : IdList{})[0];
}

}  // namespace shardplan
