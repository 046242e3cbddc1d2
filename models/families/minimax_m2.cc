// MiniMax-M2: Q and K are normalised over all heads together, and the router adds a learned bias per
// expert. intermediate_size is that of one expert.
#include "models/families/outline.h"
#include "models/families/readers.h"
#include "models/limits.h"

namespace shardplan {

ModelSpec read_minimax_m2(JsonObject& config) {
  ModelSpec model = read_outline(config);
  AttentionSpec attention = read_grouped_attention(config, model.hidden);
  attention.qk_norm = config.boolean_or("use_qk_norm", true);
  attention.qk_norm_whole = attention.qk_norm && config.string_or("qk_norm_type", "per_layer") == "per_layer";
  FfnSpec ffn = read_dense_ffn(config);
  ffn.kind = FfnKind::kMoe;
  ffn.experts = config.integer("num_local_experts", 1, kMaxExperts);
  ffn.experts_per_token = read_experts_per_token(config, "num_experts_per_tok", ffn.experts);
  ffn.router_bias = config.boolean_or("use_routing_bias", true);
  ffn.shared_intermediate = config.integer_or("shared_intermediate_size", 0, 0, kMaxIntermediate);
  const std::int64_t layers = read_layer_count(config);
  for (std::int64_t layer = 0; layer < layers; ++layer) append_layer(model, attention, ffn);
  return model;
}

}  // namespace shardplan
