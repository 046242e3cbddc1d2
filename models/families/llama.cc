// Llama and Mistral: dense decoders that differ in their window.
//
// attention_bias puts biases on Q, K, V and O, mlp_bias on gate, up and down.
#include "models/families/outline.h"
#include "models/families/readers.h"
#include "models/limits.h"

namespace shardplan {
namespace {

ModelSpec read_dense(JsonObject& config, std::int64_t window) {
  ModelSpec model = read_outline(config);
  AttentionSpec attention = read_grouped_attention(config, model.hidden);
  attention.qkv_bias = attention.output_bias = config.boolean_or("attention_bias", false);
  attention.window = window;
  FfnSpec ffn = read_dense_ffn(config);
  ffn.bias = config.boolean_or("mlp_bias", false);
  const std::int64_t layers = read_layer_count(config);
  for (std::int64_t layer = 0; layer < layers; ++layer) append_layer(model, attention, ffn);
  return model;
}

}  // namespace

ModelSpec read_llama(JsonObject& config) { return read_dense(config, 0); }

ModelSpec read_mistral(JsonObject& config) {
  return read_dense(config, config.integer_or("sliding_window", 0, 0, kMaxPositions));
}

}  // namespace shardplan
