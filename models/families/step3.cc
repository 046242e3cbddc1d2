// Step-3.5 and 3.7: one full layer, then three that slide; dense layers first, then many small experts with a shared
// one; sigmoid router with a learned bias.
// Source: config of Step-3.7-Flash. What that config does not say (other head counts in sliding layers, gates on heads)
// is left out.
#include "models/families/outline.h"
#include "models/families/readers.h"
#include "models/limits.h"

namespace shardplan {

ModelSpec read_step3(JsonObject& config) {
  ModelSpec model = read_outline(config);
  AttentionSpec attention = read_grouped_attention(config, model.hidden);
  const FfnSpec dense = read_dense_ffn(config);
  FfnSpec experts;
  experts.kind = FfnKind::kMoe;
  experts.intermediate = config.integer("moe_intermediate_size", 1, kMaxIntermediate);
  experts.experts = config.integer("num_experts", 1, kMaxExperts);
  experts.experts_per_token = read_experts_per_token(config, "num_experts_per_tok", experts.experts);
  experts.shared_intermediate =
      config.integer_or("share_expert_dim", 0, 0, 1'000'000) * config.integer_or("n_shared_experts", 1, 0, 1024);
  experts.router_bias = config.boolean_or("use_moe_router_bias", false);
  const std::int64_t layers = read_layer_count(config);
  const std::int64_t first_sparse = config.integer_or("first_k_dense_replace", 0, 0, kMaxLayers);
  const std::int64_t window = config.integer_or("sliding_window", 0, 0, kMaxPositions);
  const std::vector<std::int64_t> windows = read_layer_types(config, layers, window);
  for (std::int64_t layer = 0; layer < layers; ++layer) {
    attention.window = windows.empty() ? 0 : windows[static_cast<std::size_t>(layer)];
    append_layer(model, attention, layer >= first_sparse ? experts : dense);
  }
  return model;
}

}  // namespace shardplan
