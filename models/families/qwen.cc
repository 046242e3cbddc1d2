// Qwen2 and Qwen3, dense. Qwen2 always has biases on Q, K and V and says so nowhere; Qwen3 has norms on
// Q and K, and biases on all four projections where attention_bias is set.
#include "models/families/qwen.h"

#include "models/families/outline.h"
#include "models/families/readers.h"
#include "models/limits.h"

namespace shardplan {
namespace {

ModelSpec read_dense(JsonObject& config, ModelSpec model, AttentionSpec attention) {
  const FfnSpec ffn = read_dense_ffn(config);
  for (const std::int64_t window : read_qwen_windows(config, read_layer_count(config))) {
    attention.window = window;
    append_layer(model, attention, ffn);
  }
  return model;
}

}  // namespace

std::vector<std::int64_t> read_qwen_windows(JsonObject& config, std::int64_t layers) {
  const std::int64_t window = config.integer_or("sliding_window", 0, 0, kMaxPositions);
  const std::int64_t first = config.integer_or("max_window_layers", 0, 0, kMaxLayers);
  const bool used = config.boolean_or("use_sliding_window", false);
  std::vector<std::int64_t> windows = read_layer_types(config, layers, window);
  if (!windows.empty()) return windows;
  windows.assign(static_cast<std::size_t>(layers), 0);
  for (std::int64_t layer = first; used && layer < layers; ++layer) windows[static_cast<std::size_t>(layer)] = window;
  return windows;
}

ModelSpec read_qwen2(JsonObject& config) {
  ModelSpec model = read_outline(config);
  AttentionSpec attention = read_grouped_attention(config, model.hidden);
  attention.qkv_bias = true;
  return read_dense(config, std::move(model), attention);
}

ModelSpec read_qwen3(JsonObject& config) {
  ModelSpec model = read_outline(config);
  AttentionSpec attention = read_grouped_attention(config, model.hidden);
  attention.qk_norm = true;
  attention.qkv_bias = attention.output_bias = config.boolean_or("attention_bias", false);
  return read_dense(config, std::move(model), attention);
}

}  // namespace shardplan
