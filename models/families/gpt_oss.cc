// gpt-oss: sliding and full layers in turn, one learned sink per query head, biases on attention,
// router and experts. intermediate_size is that of one expert.
// Source: the gpt-oss model card and published modelling code.
#include "models/families/outline.h"
#include "models/families/readers.h"
#include "models/limits.h"

namespace shardplan {
namespace {

// Even layers slide unless layer_types says otherwise.
std::vector<std::int64_t> read_windows(JsonObject& config, std::int64_t layers) {
  const std::int64_t window = config.integer_or("sliding_window", 128, 1, kMaxPositions);
  std::vector<std::int64_t> windows = read_layer_types(config, layers, window);
  for (auto layer = static_cast<std::int64_t>(windows.size()); layer < layers; ++layer) {
    windows.push_back(layer % 2 == 0 ? window : 0);
  }
  return windows;
}

}  // namespace

ModelSpec read_gpt_oss(JsonObject& config) {
  ModelSpec model = read_outline(config);
  AttentionSpec attention = read_grouped_attention(config, model.hidden);
  attention.qkv_bias = attention.output_bias = config.boolean_or("attention_bias", true);
  attention.sinks = true;
  FfnSpec ffn = read_dense_ffn(config);
  ffn.kind = FfnKind::kMoe;
  ffn.bias = true;
  ffn.router_bias = true;
  ffn.experts = config.integer("num_local_experts", 1, kMaxExperts);
  ffn.experts_per_token = read_experts_per_token(config, "num_experts_per_tok", ffn.experts);
  config.ignore("experts_per_token");
  for (const std::int64_t window : read_windows(config, read_layer_count(config))) {
    attention.window = window;
    append_layer(model, attention, ffn);
  }
  return model;
}

}  // namespace shardplan
