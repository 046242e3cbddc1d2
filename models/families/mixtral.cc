// Mixtral: every layer holds num_local_experts experts of intermediate_size.
#include "models/families/outline.h"
#include "models/families/readers.h"
#include "models/limits.h"

namespace shardplan {

ModelSpec read_mixtral(JsonObject& config) {
  ModelSpec model = read_outline(config);
  AttentionSpec attention = read_grouped_attention(config, model.hidden);
  attention.window = config.integer_or("sliding_window", 0, 0, kMaxPositions);
  FfnSpec ffn = read_dense_ffn(config);
  ffn.kind = FfnKind::kMoe;
  ffn.experts = config.integer("num_local_experts", 1, kMaxExperts);
  ffn.experts_per_token = read_experts_per_token(config, "num_experts_per_tok", ffn.experts);
  const std::int64_t layers = read_layer_count(config);
  for (std::int64_t layer = 0; layer < layers; ++layer) append_layer(model, attention, ffn);
  return model;
}

}  // namespace shardplan
