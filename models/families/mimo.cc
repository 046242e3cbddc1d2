// MiMo-7B is Qwen2 with an MTP layer. MiMo-V2: sliding layers with KV heads and head sizes of their own and sinks, full
// layers between them, and experts from the second layer on; V narrower than Q and K.
// Source: published modelling code of MiMo-V2-Flash. The MTP layers hold a dense FFN and slide.
#include "models/families/outline.h"
#include "models/families/readers.h"
#include "models/families/routed.h"
#include "models/limits.h"

namespace shardplan {
namespace {

AttentionSpec sliding_of(JsonObject& config, const AttentionSpec& full) {
  AttentionSpec attention = full;
  attention.q_heads = config.integer_or("swa_num_attention_heads", full.q_heads, 1, kMaxHeads);
  attention.kv_heads = config.integer_or("swa_num_key_value_heads", full.kv_heads, 1, attention.q_heads);
  attention.head_dim = config.integer_or("swa_head_dim", full.head_dim, 1, kMaxHeadDim);
  attention.v_head_dim = config.integer_or("swa_v_head_dim", full.v_head_dim, 1, kMaxHeadDim);
  attention.window = config.integer("sliding_window", 1, kMaxPositions);
  attention.sinks = config.boolean_or("add_swa_attention_sink_bias", false);
  return attention;
}

FfnSpec read_experts(JsonObject& config) {
  FfnSpec ffn;
  ffn.kind = FfnKind::kMoe;
  ffn.intermediate = config.integer("moe_intermediate_size", 1, kMaxIntermediate);
  ffn.experts = config.integer("n_routed_experts", 1, kMaxExperts);
  ffn.experts_per_token = read_experts_per_token(config, "num_experts_per_tok", ffn.experts);
  ffn.shared_intermediate = config.integer_or("n_shared_experts", 0, 0, 1024) * ffn.intermediate;
  read_group_routing(config, ffn);
  return ffn;
}

}  // namespace

ModelSpec read_mimo(JsonObject& config) { return read_qwen2(config); }

ModelSpec read_mimo_v2(JsonObject& config) {
  ModelSpec model = read_outline(config);
  const std::int64_t layers = read_layer_count(config);
  AttentionSpec full = read_grouped_attention(config, model.hidden);
  full.v_head_dim = config.integer_or("v_head_dim", full.head_dim, 1, kMaxHeadDim);
  full.sinks = config.boolean_or("add_full_attention_sink_bias", false);
  const AttentionSpec sliding = sliding_of(config, full);
  const FfnSpec dense = read_dense_ffn(config);
  const FfnSpec experts = read_experts(config);
  const auto slides = read_flags(config, "hybrid_layer_pattern", layers);
  const auto is_moe = read_flags(config, "moe_layer_freq", layers);
  for (const char* key : {"attention_chunk_size", "sliding_window_size"}) config.ignore(key);
  for (std::size_t layer = 0; layer < static_cast<std::size_t>(layers); ++layer) {
    const bool slide = !slides.empty() && slides[layer] != 0;
    append_layer(model, slide ? sliding : full, is_moe.empty() || is_moe[layer] != 0 ? experts : dense);
  }
  model.mtp_layers.assign(static_cast<std::size_t>(model.mtp_modules), layer_of(sliding, dense));
  return model;
}

}  // namespace shardplan
