// Gemma-4: sliding layers and global ones with other head sizes and fewer KV heads, where V is K (attention_k_eq_v);
// both branches are normalised on the way out, too. With enable_moe_block the dense MLP stays beside the experts.
// Source: published modelling code of Gemma-4. Per-layer embeddings and shared KV layers (the small models) are
// refused.
#include "base/errors.h"
#include "models/families/outline.h"
#include "models/families/readers.h"
#include "models/limits.h"

namespace shardplan {
namespace {

constexpr std::int64_t kMoeVectors = 4;  // norms of both FFN branches, of the experts' input, and the router's scale

void refuse_small_models(JsonObject& config) {
  for (const char* key : {"hidden_size_per_layer_input", "num_kv_shared_layers"}) {
    if (config.integer_or(key, 0, 0, kMaxHidden) != 0)
      throw InputError(config.where(key), "is not understood yet", "0");
  }
}

AttentionSpec global_of(JsonObject& config, AttentionSpec attention) {
  attention.window = 0;
  attention.head_dim = attention.v_head_dim = config.integer_or("global_head_dim", attention.head_dim, 1, kMaxHeadDim);
  attention.value_is_key = config.boolean_or("attention_k_eq_v", false);
  if (attention.value_is_key)
    attention.kv_heads = config.integer_or("num_global_key_value_heads", attention.kv_heads, 1, attention.q_heads);
  if (attention.q_heads % attention.kv_heads != 0) {
    throw InputError(config.where("num_global_key_value_heads"), "does not divide the query heads",
                     "a divisor of num_attention_heads");
  }
  return attention;
}

FfnSpec read_ffn(JsonObject& config) {
  FfnSpec ffn = read_dense_ffn(config);
  if (!config.boolean_or("enable_moe_block", false)) return ffn;
  ffn.kind = FfnKind::kMoe;
  ffn.shared_intermediate = ffn.intermediate;  // the dense MLP runs for every token
  ffn.intermediate = config.integer("moe_intermediate_size", 1, kMaxIntermediate);
  ffn.experts = config.integer("num_experts", 1, kMaxExperts);
  ffn.experts_per_token = read_experts_per_token(config, "top_k_experts", ffn.experts);
  ffn.router_bias = true;  // one learned scale per expert
  return ffn;
}

}  // namespace

ModelSpec read_gemma4(JsonObject& config) {
  ModelSpec model = read_outline(config);
  model.tied_embeddings = config.boolean_or("tie_word_embeddings", true);
  refuse_small_models(config);
  AttentionSpec sliding = read_grouped_attention(config, model.hidden);
  sliding.qk_norm = true;
  const std::int64_t window = config.integer("sliding_window", 1, kMaxPositions);
  const AttentionSpec global = global_of(config, sliding);
  const FfnSpec ffn = read_ffn(config);
  const std::vector<std::int64_t> windows = read_layer_types(config, read_layer_count(config), window);
  if (windows.empty()) throw InputError(config.where("layer_types"), "is missing", "the type of every layer");
  for (const std::int64_t layer_window : windows) {
    sliding.window = layer_window;
    LayerKind kind = layer_of(layer_window > 0 ? sliding : global, ffn);
    kind.post_norms = true;
    kind.extra_vectors = ffn.kind == FfnKind::kMoe ? kMoeVectors : 0;
    append_layer(model, kind);
  }
  config.ignore("vocab_size_per_layer_input");
  return model;
}

}  // namespace shardplan
