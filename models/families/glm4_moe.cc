// GLM-4.5 to 4.7: grouped attention with biases on Q, K and V, the first first_k_dense_replace layers dense, then
// experts with one learned bias each in the router beside shared ones. Source: GLM-4.5 technical report and its
// published modelling code.
#include "models/families/outline.h"
#include "models/families/readers.h"
#include "models/families/routed.h"
#include "models/limits.h"

namespace shardplan {

ModelSpec read_glm4_moe(JsonObject& config) {
  ModelSpec model = read_outline(config);
  AttentionSpec attention = read_grouped_attention(config, model.hidden);
  attention.qkv_bias = config.boolean_or("attention_bias", false);
  attention.qk_norm = config.boolean_or("use_qk_norm", false);
  const FfnSpec dense = read_dense_ffn(config);
  FfnSpec experts = read_routed_experts(config);
  experts.router_bias = true;
  const std::int64_t first_sparse = config.integer_or("first_k_dense_replace", 0, 0, kMaxLayers);
  const std::int64_t layers = read_layer_count(config);
  for (std::int64_t layer = 0; layer < layers; ++layer)
    append_layer(model, attention, layer >= first_sparse ? experts : dense);
  return model;
}

}  // namespace shardplan
