// MHA, GQA and MQA: Q, K and V from one product; K and V of every KV head are cached.
//
// Decode appends first and attends over the cache; prefill attends over the fresh K and V and a view of the cached
// prefix, then appends, so that under prefill context parallelism the keys that were gathered for attention are also
// what is written (or sliced) into the cache.
#include <cmath>

#include "costmodel/layers/builder.h"
#include "costmodel/layers/index.h"

namespace shardplan {
namespace {

// What one phase attends with; `selection` is -1 where attention is dense.
struct Operands {
  TensorId q = -1;
  TensorId k = -1;
  TensorId v = -1;
  TensorId selection = -1;
  TensorId sinks = -1;
};

TensorId attend(LayerBuilder& build, const char* name, AttentionOp op, IdList inputs, TensorId selection, TensorId sinks, TensorId o) {
  if (selection >= 0) {
    inputs.push_back(selection);
    op.selects = true;
  }
  LogicalOp attention{.kind = OpKind::kAttention, .name = name, .inputs = inputs, .outputs = {o}, .attention = op};
  if (sinks >= 0) attention.weights = {sinks};
  build.graph.op(std::move(attention));
  return o;
}

TensorId attend_decode(LayerBuilder& build, AttentionOp op, const Operands& of, const IdList& caches, const AttentionSpec& spec) {
  build.append({of.k, of.v}, caches);
  const TensorId o = build.activation("o_decode", Part::kAttention, {{Dim::kHeads, spec.q_heads}, {Dim::kHeadDim, spec.v_head_dim}},
                                      Phase::kDecode);
  op.phase = Phase::kDecode;
  return attend(build, "attention_decode", op, {of.q, caches[0], caches[1]}, of.selection, of.sinks, o);
}

TensorId attend_prefill(LayerBuilder& build, AttentionOp op, const Operands& of, const IdList& caches, const AttentionSpec& spec) {
  const TensorId prefix_k = build.prefix("prefix_k", caches[0]);
  const TensorId prefix_v = build.prefix("prefix_v", caches[1]);
  const TensorId o = build.activation("o_prefill", Part::kAttention, {{Dim::kHeads, spec.q_heads}, {Dim::kHeadDim, spec.v_head_dim}},
                                      Phase::kPrefill);
  op.phase = Phase::kPrefill;
  attend(build, "attention_prefill", op, {of.q, of.k, of.v, prefix_k, prefix_v}, of.selection, of.sinks, o);
  build.append({of.k, of.v}, caches);
  return o;
}

IdList kv_caches(LayerBuilder& build, const AttentionSpec& spec, Phase phase) {
  const IdList ids{build.cache("cache_k", {{Dim::kKvHeads, spec.kv_heads}, {Dim::kHeadDim, spec.head_dim}}, phase),
                   build.cache("cache_v", {{Dim::kKvHeads, spec.kv_heads}, {Dim::kHeadDim, spec.v_head_dim}}, phase)};
  for (const TensorId id : ids) build.graph.tensors[static_cast<std::size_t>(id)].window = spec.window;
  return ids;
}

AttentionOp attention_shape(const AttentionSpec& spec) {
  return {.phase = Phase::kDecode, .qk_dim = spec.head_dim, .v_dim = spec.v_head_dim, .window = spec.window,
          .causal = true, .shared_kv = false, .score_scale = 1.0 / std::sqrt(static_cast<double>(spec.head_dim)),
          .sinks = spec.sinks, .chunked = spec.chunked, .top_k = spec.index.top_k};
}

// Q, K, V and the output's gate from one product. Where V is K, the product is done once and V taken before its rotation.
struct Projected {
  TensorId q = -1;
  TensorId k = -1;
  TensorId v = -1;
  TensorId gate = -1;
};

IdList qkv_biases(LayerBuilder& build, const AttentionSpec& spec) {
  IdList biases{build.vector("b_q", Part::kAttention, {{Dim::kHeads, spec.q_heads}, {Dim::kHeadDim, spec.head_dim}}),
                build.vector("b_k", Part::kAttention, {{Dim::kKvHeads, spec.kv_heads}, {Dim::kHeadDim, spec.head_dim}})};
  if (!spec.value_is_key) biases.push_back(build.vector("b_v", Part::kAttention, {{Dim::kKvHeads, spec.kv_heads}, {Dim::kHeadDim, spec.v_head_dim}}));
  if (spec.output_gate) biases.push_back(-1);
  return biases;
}

Projected project(LayerBuilder& build, TensorId x, const LayerKind& kind) {
  const AttentionSpec& spec = kind.attention;
  const auto heads_weight = [&](const char* name, Dim dim, std::int64_t heads, std::int64_t width) {
    return build.weight(name, Part::kAttention, {{dim, heads}, {Dim::kHeadDim, width}}, {{Dim::kHidden, build.model().hidden}}, kind.formats.attention);
  };
  IdList weights{heads_weight("w_q", Dim::kHeads, spec.q_heads, spec.head_dim), heads_weight("w_k", Dim::kKvHeads, spec.kv_heads, spec.head_dim)};
  NameList names{"q_raw", "k_raw"};
  if (!spec.value_is_key) {
    weights.push_back(heads_weight("w_v", Dim::kKvHeads, spec.kv_heads, spec.v_head_dim));
    names.push_back("v");
  }
  if (spec.output_gate) {
    weights.push_back(heads_weight("w_output_gate", Dim::kHeads, spec.q_heads, spec.v_head_dim));
    names.push_back("output_gate");
  }
  const IdList made = build.matmul("qkv", x, weights, names, Part::kAttention, spec.qkv_bias ? qkv_biases(build, spec) : IdList{});
  Projected result{.q = made[0], .k = made[1], .v = spec.value_is_key ? made[1] : made[2]};
  if (spec.output_gate) result.gate = made[made.size() - 1];
  if (spec.qk_norm_whole) {
    build.norm_whole(result.q, result.k);
  } else if (spec.qk_norm) {
    result.q = build.fused_norm("q_normed", result.q);
    result.k = build.fused_norm("k_normed", result.k);
  }
  if (spec.rotary) result.q = build.rotary_pair(result.q, result.k, "q", "k", spec.head_dim, result.k);
  return result;
}

}  // namespace

TensorId build_grouped_attention(LayerBuilder& build, TensorId x, const LayerKind& kind) {
  const AttentionSpec& spec = kind.attention;
  const Projected in = project(build, x, kind);
  const bool indexed = spec.index.heads > 0 && !spec.index.shared;
  const Indexer indexer = indexed ? build_indexer(build, x, x, kind, spec.index.head_dim) : Indexer{};
  const AttentionOp shape = attention_shape(spec);
  const TensorId sinks = spec.sinks ? build.vector("w_sinks", Part::kAttention, {{Dim::kHeads, spec.q_heads}}) : -1;
  TensorId decode = -1;
  TensorId prefill = -1;
  if (build.has_decode()) {
    Operands of{.q = build.split("q_decode", in.q, Phase::kDecode), .sinks = sinks};   // one after the other: the order of nodes
    of.k = build.split("k_decode", in.k, Phase::kDecode);
    of.v = build.split("v_decode", in.v, Phase::kDecode);
    if (indexed) of.selection = select_decode(build, indexer, spec.index);
    decode = attend_decode(build, shape, of, kv_caches(build, spec, Phase::kDecode), spec);
  }
  if (build.has_prefill()) {
    Operands of{.q = build.split("q_prefill", in.q, Phase::kPrefill), .sinks = sinks};
    of.k = build.split("k_prefill", in.k, Phase::kPrefill);
    of.v = build.split("v_prefill", in.v, Phase::kPrefill);
    if (indexed) of.selection = select_prefill(build, indexer, spec.index);
    prefill = attend_prefill(build, shape, of, kv_caches(build, spec, Phase::kPrefill), spec);
  }
  TensorId o = build.join("o", decode, prefill);
  if (spec.output_gate) o = build.gate("o_gated", in.gate, o, ElementFunction::kSigmoid);
  const TensorId w_o = build.weight("w_o", Part::kAttention, {{Dim::kHidden, build.model().hidden}},
                                    {{Dim::kHeads, spec.q_heads}, {Dim::kHeadDim, spec.v_head_dim}}, kind.formats.attention_output);
  return build.matmul("o_proj", o, {w_o}, {"attention_out"}, Part::kAttention,
                      spec.output_bias ? IdList{build.vector("b_o", Part::kAttention, {{Dim::kHidden, build.model().hidden}})} : IdList{})[0];
}

}  // namespace shardplan
