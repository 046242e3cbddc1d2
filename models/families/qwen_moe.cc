// Qwen2-MoE and Qwen3-MoE. Layer i holds experts unless mlp_only_layers names it or
// (i+1) % decoder_sparse_step != 0; the others hold a dense FFN of intermediate_size.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/errors.h"
#include "models/families/outline.h"
#include "models/families/qwen.h"
#include "models/families/readers.h"
#include "models/limits.h"

namespace shardplan {
namespace {

// True for each layer that holds experts.
std::vector<bool> read_sparse_layers(JsonObject& config, std::int64_t layers) {
  const std::int64_t step = config.integer_or("decoder_sparse_step", 1, 1, kMaxLayers);
  std::vector<bool> sparse(static_cast<std::size_t>(layers));
  for (std::int64_t layer = 0; layer < layers; ++layer)
    sparse[static_cast<std::size_t>(layer)] = (layer + 1) % step == 0;
  const Json* dense = config.find("mlp_only_layers");
  if (dense == nullptr) return sparse;
  if (!dense->is_array())
    throw InputError(config.where("mlp_only_layers"), "is not a list", "an array of layer indices");
  for (const Json& index : *dense) {
    const bool good =
        index.is_number_integer() && index.get<double>() >= 0 && index.get<double>() < static_cast<double>(layers);
    if (!good)
      throw InputError(config.where("mlp_only_layers"), "names no layer of the model", "an array of layer indices");
    sparse[index.get<std::size_t>()] = false;
  }
  return sparse;
}

FfnSpec read_experts(JsonObject& config, bool renormalise_by_default) {
  FfnSpec ffn;
  ffn.kind = FfnKind::kMoe;
  ffn.intermediate = config.integer("moe_intermediate_size", 1, kMaxIntermediate);
  ffn.experts = config.integer("num_experts", 1, kMaxExperts);
  ffn.experts_per_token = read_experts_per_token(config, "num_experts_per_tok", ffn.experts);
  ffn.renormalise = config.boolean_or("norm_topk_prob", renormalise_by_default);
  return ffn;
}

ModelSpec read_layers(JsonObject& config, ModelSpec model, AttentionSpec attention, const FfnSpec& experts) {
  const std::int64_t layers = read_layer_count(config);
  const std::vector<std::int64_t> windows = read_qwen_windows(config, layers);
  const std::vector<bool> sparse = read_sparse_layers(config, layers);
  const bool all_sparse = std::find(sparse.begin(), sparse.end(), false) == sparse.end();
  if (all_sparse) config.ignore("intermediate_size");
  const FfnSpec dense = all_sparse ? FfnSpec{} : read_dense_ffn(config);
  for (std::size_t layer = 0; layer < windows.size(); ++layer) {
    attention.window = windows[layer];
    append_layer(model, attention, sparse[layer] ? experts : dense);
  }
  return model;
}

}  // namespace

ModelSpec read_qwen2_moe(JsonObject& config) {
  ModelSpec model = read_outline(config);
  AttentionSpec attention = read_grouped_attention(config, model.hidden);
  attention.qkv_bias = config.boolean_or("qkv_bias", true);
  FfnSpec experts = read_experts(config, false);
  experts.shared_intermediate = config.integer("shared_expert_intermediate_size", 0, kMaxIntermediate);
  experts.shared_gate = experts.shared_intermediate > 0;
  return read_layers(config, std::move(model), attention, experts);
}

ModelSpec read_qwen3_moe(JsonObject& config) {
  ModelSpec model = read_outline(config);
  AttentionSpec attention = read_grouped_attention(config, model.hidden);
  attention.qk_norm = true;
  attention.qkv_bias = attention.output_bias = config.boolean_or("attention_bias", false);
  config.ignore("shared_expert_intermediate_size");
  return read_layers(config, std::move(model), attention, read_experts(config, false));
}

}  // namespace shardplan
