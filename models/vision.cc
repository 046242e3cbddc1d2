#include "models/vision.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "models/limits.h"

namespace shardplan {
namespace {

constexpr std::int64_t kMaxTowerSize = 100'000;  // of any one extent; products of three stay below 2^63
constexpr std::int64_t kMaxTowerLayers = 1'000;

std::int64_t extent(JsonObject& vision, const char* key, std::int64_t fallback) {
  return vision.integer_or(key, fallback, 0, kMaxTowerSize);
}

std::int64_t with_bias(std::int64_t outputs, std::int64_t inputs) { return outputs * (inputs + 1); }

// fc1 and fc2 behind a merge of `merged` patches, over a norm of `norm` columns (weight and bias).
std::int64_t merger(std::int64_t merged, std::int64_t output, std::int64_t norm) {
  return with_bias(merged, merged) + with_bias(output, merged) + 2 * norm;
}

// Patches of 3 colours and `frames` frames, biased matrices and LayerNorms throughout.
std::int64_t qwen_tower(JsonObject& vision, std::int64_t text_hidden) {
  const std::int64_t width = extent(vision, "hidden_size", 0);
  const std::int64_t ffn = extent(vision, "intermediate_size", 0);
  const std::int64_t layers = vision.integer_or("depth", 0, 0, kMaxTowerLayers);
  const std::int64_t patch = extent(vision, "patch_size", 16);
  const std::int64_t merge = vision.integer_or("spatial_merge_size", 2, 1, 8);
  const std::int64_t merged = width * merge * merge;
  const std::int64_t output = extent(vision, "out_hidden_size", text_hidden);
  const std::int64_t frames = vision.integer_or("temporal_patch_size", 2, 1, 64);
  const std::int64_t layer =
      with_bias(3 * width, width) + with_bias(width, width) + with_bias(ffn, width) + with_bias(width, ffn) + 4 * width;
  const std::int64_t embedding =
      with_bias(width, 3 * patch * patch * frames) + extent(vision, "num_position_embeddings", 0) * width;
  const Json* deep = vision.find("deepstack_visual_indexes");
  const auto listed = static_cast<std::int64_t>(deep != nullptr && deep->is_array() ? deep->size() : 0);
  const std::int64_t more = std::min(listed, layers);
  return embedding + layers * layer + merger(merged, output, width) + more * merger(merged, output, merged);
}

// MoonViT: the same layers over a learned grid of positions; `qkv_hidden_size` where attention is wider than the
// stream.
std::int64_t kimi_tower(JsonObject& vision, std::int64_t text_hidden) {
  const std::int64_t width = extent(vision, "vt_hidden_size", 0);
  const std::int64_t ffn = extent(vision, "vt_intermediate_size", 0);
  const std::int64_t layers = vision.integer_or("vt_num_hidden_layers", 0, 0, kMaxTowerLayers);
  const std::int64_t heads = extent(vision, "qkv_hidden_size", width);
  const std::int64_t patch = extent(vision, "patch_size", 14);
  const std::int64_t positions = extent(vision, "init_pos_emb_height", 64) * extent(vision, "init_pos_emb_width", 64);
  const std::int64_t merged = 4 * width;
  const std::int64_t layer =
      with_bias(3 * heads, width) + with_bias(width, heads) + with_bias(ffn, width) + with_bias(width, ffn) + 4 * width;
  return with_bias(width, 3 * patch * patch) + positions * width + layers * layer + 2 * width +
         merger(merged, text_hidden, width);
}

// Gated MLP, no biases, norms around both blocks and on Q and K; one projection to the text.
std::int64_t gemma_tower(JsonObject& vision, std::int64_t text_hidden) {
  const std::int64_t width = extent(vision, "hidden_size", 0);
  const std::int64_t ffn = extent(vision, "intermediate_size", 0);
  const std::int64_t layers = vision.integer_or("num_hidden_layers", 0, 0, kMaxTowerLayers);
  const std::int64_t patch = extent(vision, "patch_size", 16);
  const std::int64_t positions = 2 * extent(vision, "position_embedding_size", 0);
  const std::int64_t layer = 4 * width * width + 3 * width * ffn + 4 * width;
  return width * 3 * patch * patch + positions * width + layers * layer + width * text_hidden;
}

// SigLIP before Gemma-3: learned positions for every patch of one image size, biases, a norm and one projection behind.
std::int64_t siglip_tower(JsonObject& vision, std::int64_t text_hidden) {
  const std::int64_t width = extent(vision, "hidden_size", 0);
  const std::int64_t ffn = extent(vision, "intermediate_size", 0);
  const std::int64_t layers = vision.integer_or("num_hidden_layers", 0, 0, kMaxTowerLayers);
  const std::int64_t patch = vision.integer_or("patch_size", 14, 1, kMaxTowerSize);
  const std::int64_t side = extent(vision, "image_size", 896) / patch;
  const std::int64_t layer = 4 * with_bias(width, width) + with_bias(ffn, width) + with_bias(width, ffn) + 4 * width;
  return with_bias(width, 3 * patch * patch) + side * side * width + layers * layer + 3 * width + width * text_hidden;
}

// Pixtral: gated MLP, no biases, two norms a layer; patches are merged by fours and go through two projections.
std::int64_t pixtral_tower(JsonObject& vision, std::int64_t text_hidden) {
  const std::int64_t width = extent(vision, "hidden_size", 0);
  const std::int64_t ffn = extent(vision, "intermediate_size", 0);
  const std::int64_t layers = vision.integer_or("num_hidden_layers", 0, 0, kMaxTowerLayers);
  const std::int64_t patch = extent(vision, "patch_size", 14);
  const std::int64_t layer = 4 * width * width + 3 * width * ffn + 2 * width;
  return 3 * patch * patch * width + layers * layer + 2 * width + 4 * width * width + width * text_hidden +
         text_hidden * text_hidden;
}

// "merge_kernel_size": [2, 2], or a number under other names.
std::int64_t merged_patches(JsonObject& vision) {
  if (vision.has("pooling_kernel_size")) return vision.integer_or("pooling_kernel_size", 1, 1, 64);
  if (vision.has("spatial_merge_size")) return vision.integer_or("spatial_merge_size", 1, 1, 64);
  return vision.has("merge_kernel_size") ? 2 : 1;
}

}  // namespace

std::int64_t vision_values_per_token(JsonObject& vision, std::int64_t tokens_per_image, std::int64_t merge) {
  constexpr std::int64_t kColours = 3;
  if (tokens_per_image > 0) {
    const std::int64_t side = extent(vision, "image_size", 0);
    return kColours * side * side / tokens_per_image;
  }
  const std::int64_t side = extent(vision, "patch_size", 0) * (merge > 0 ? merge : merged_patches(vision));
  return kColours * side * side * vision.integer_or("temporal_patch_size", 1, 1, 64);
}

std::int64_t vision_heads(JsonObject& vision) {
  for (const char* key : {"num_heads", "vt_num_attention_heads", "num_attention_heads"}) {
    if (vision.has(key)) return vision.integer(key, 1, kMaxTowerSize);
  }
  return 0;
}

std::int64_t count_vision_parameters(JsonObject& vision, std::int64_t text_hidden) {
  if (vision.has("depth")) return qwen_tower(vision, text_hidden);
  if (vision.has("vt_hidden_size")) return kimi_tower(vision, text_hidden);
  if (vision.has("position_embedding_size")) return gemma_tower(vision, text_hidden);
  const std::string type = vision.string_or("model_type", "");
  if (type == "siglip_vision_model") return siglip_tower(vision, text_hidden);
  if (type == "pixtral") return pixtral_tower(vision, text_hidden);
  return 0;
}

}  // namespace shardplan
