// Llama-4: every interleave_moe_layer_step-th layer holds experts, one per token, beside a shared expert; the others a
// dense FFN of intermediate_size_mlp. Three of four layers attend within chunks of attention_chunk_size positions and
// are rotated; the fourth attends to everything without positions (no_rope_layers). Norms of Q and K have no weights.
// Source: published modelling code of Llama-4.
#include "models/families/outline.h"
#include "models/families/readers.h"
#include "models/limits.h"

namespace shardplan {
namespace {

constexpr std::int64_t kNoRopeEvery = 4;

// 1 for each layer with positions.
std::vector<std::int64_t> read_rope_layers(JsonObject& config, std::int64_t layers) {
  std::vector<std::int64_t> rotary = read_flags(config, "no_rope_layers", layers);
  for (auto layer = static_cast<std::int64_t>(rotary.size()); layer < layers; ++layer)
    rotary.push_back((layer + 1) % kNoRopeEvery != 0);
  return rotary;
}

FfnSpec read_experts(JsonObject& config) {
  FfnSpec ffn = read_dense_ffn(config);
  ffn.kind = FfnKind::kMoe;
  ffn.experts = config.integer("num_local_experts", 1, kMaxExperts);
  ffn.experts_per_token = read_experts_per_token(config, "num_experts_per_tok", ffn.experts);
  ffn.shared_intermediate = ffn.intermediate;
  ffn.renormalise = false;  // the sigmoid of the one chosen logit
  return ffn;
}

}  // namespace

ModelSpec read_llama4(JsonObject& config) {
  ModelSpec model = read_outline(config);
  const std::int64_t layers = read_layer_count(config);
  AttentionSpec attention = read_grouped_attention(config, model.hidden);
  const std::int64_t chunk = config.integer_or("attention_chunk_size", 0, 0, kMaxPositions);
  const FfnSpec experts = read_experts(config);
  FfnSpec dense;
  dense.intermediate = config.integer("intermediate_size_mlp", 1, kMaxIntermediate);
  const std::int64_t step = config.integer_or("interleave_moe_layer_step", 1, 1, kMaxLayers);
  const std::vector<std::int64_t> rotary = read_rope_layers(config, layers);
  config.ignore("moe_layers");
  for (std::int64_t layer = 0; layer < layers; ++layer) {
    attention.rotary = rotary[static_cast<std::size_t>(layer)] != 0;
    attention.window = attention.rotary ? chunk : 0;
    attention.chunked = attention.window > 0;
    append_layer(model, attention, (layer + 1) % step == 0 ? experts : dense);
  }
  return model;
}

}  // namespace shardplan
