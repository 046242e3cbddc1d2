#include "tests/costmodel/made_models.h"

#include <utility>

#include "models/catalog.h"

namespace shardplan {
namespace {

WeightFormats bf16_formats() {
  const NumberFormat* bf16 = find_format("bf16");
  return {bf16, bf16, bf16, bf16, bf16, bf16, bf16, bf16};
}

AttentionSpec latent_attention() {
  return {.kind = AttentionKind::kLatent,
          .q_heads = 8,
          .kv_heads = 1,
          .head_dim = 6,
          .v_head_dim = 4,
          .q_latent = 12,
          .kv_latent = 8,
          .nope_dim = 4,
          .rope_dim = 2};
}

ModelSpec two_kinds(const AttentionSpec& attention, const FfnSpec& first, const FfnSpec& then) {
  ModelSpec model = made_model({.attention = attention, .ffn = first});
  for (int i = 0; i < 3; ++i) append_layer(model, {"then", attention, then, bf16_formats()});
  return model;
}

}  // namespace

AttentionSpec grouped_attention(std::int64_t q_heads, std::int64_t kv_heads, std::int64_t head_dim) {
  return {.q_heads = q_heads, .kv_heads = kv_heads, .head_dim = head_dim, .v_head_dim = head_dim};
}

FfnSpec dense_ffn(std::int64_t intermediate) { return {.kind = FfnKind::kDense, .intermediate = intermediate}; }

FfnSpec moe_ffn(std::int64_t experts, std::int64_t per_token, std::int64_t intermediate, std::int64_t shared) {
  return {.kind = FfnKind::kMoe,
          .intermediate = intermediate,
          .experts = experts,
          .experts_per_token = per_token,
          .shared_intermediate = shared};
}

ModelSpec made_model(const MadeModel& made) {
  ModelSpec model;
  model.name = "made";
  model.hidden = made.hidden;
  model.vocab = made.vocab;
  model.max_positions = 1 << 20;
  model.formats = bf16_formats();
  model.kv_format = find_format("bf16");
  for (std::int64_t i = 0; i < made.layers; ++i)
    append_layer(model, {"layer", made.attention, made.ffn, bf16_formats()});
  return model;
}

std::vector<ModelSpec> small_family_models() {
  const AttentionSpec grouped = grouped_attention(8, 4, 6);
  AttentionSpec windowed = grouped_attention(8, 8, 4);
  windowed.window = 5;
  return {made_model({.layers = 4, .attention = grouped, .ffn = dense_ffn(24)}),
          made_model({.layers = 3, .attention = windowed, .ffn = dense_ffn(16)}),
          made_model({.layers = 2, .attention = grouped, .ffn = moe_ffn(8, 2, 8)}),
          two_kinds(latent_attention(), dense_ffn(24), moe_ffn(16, 3, 8, 8))};
}

const std::vector<ModelSpec>& property_models() {
  static const std::vector<ModelSpec> models = [] {
    std::vector<ModelSpec> all = small_family_models();
    for (const char* name : {"llama-3.1-8b", "qwen3-30b-a3b", "gpt-oss-20b", "deepseek-v3"})
      all.push_back(load_model(name));
    return all;
  }();
  return models;
}

}  // namespace shardplan
