// Qwen3-Next and Qwen3.5: three layers of gated delta net, then one of grouped attention with a gate on its output;
// a dense FFN, or many experts with a gated shared one.
// Source: published modelling code of Qwen3-Next and Qwen3.5.
#include <fmt/format.h>

#include "base/errors.h"
#include "models/families/outline.h"
#include "models/families/readers.h"
#include "models/in_quotes.h"
#include "models/limits.h"

namespace shardplan {
namespace {

constexpr std::int64_t kMaxStateDim = 4096;

// True for each layer that is recurrent.
std::vector<bool> read_recurrent_layers(JsonObject& config, std::int64_t layers) {
  const std::vector<std::string> types = config.strings("layer_types");
  const std::int64_t interval = config.integer_or("full_attention_interval", 4, 1, kMaxLayers);
  std::vector<bool> recurrent;
  for (std::int64_t layer = 0; types.empty() && layer < layers; ++layer)
    recurrent.push_back((layer + 1) % interval != 0);
  if (types.empty()) return recurrent;
  if (std::ssize(types) != layers) {
    throw InputError(config.where("layer_types"), fmt::format("names {} layers", types.size()),
                     fmt::format("{}", layers));
  }
  for (const std::string& type : types) {
    if (type != "linear_attention" && type != "full_attention") {
      throw InputError(config.where("layer_types"), "unknown type " + in_quotes(type),
                       "linear_attention or full_attention");
    }
    recurrent.push_back(type == "linear_attention");
  }
  return recurrent;
}

AttentionSpec read_delta_net(JsonObject& config) {
  AttentionSpec attention;
  attention.kind = AttentionKind::kRecurrent;
  RecurrentSpec& spec = attention.recurrent;
  spec.rule = RecurrentRule::kGatedDelta;
  spec.key_heads = attention.kv_heads = config.integer("linear_num_key_heads", 1, kMaxHeads);
  spec.value_heads = attention.q_heads = config.integer("linear_num_value_heads", 1, kMaxHeads);
  spec.key_dim = config.integer("linear_key_head_dim", 1, kMaxStateDim);
  spec.value_dim = config.integer("linear_value_head_dim", 1, kMaxStateDim);
  spec.conv_width = config.integer("linear_conv_kernel_dim", 1, 1024);
  if (spec.value_heads % spec.key_heads != 0) {
    throw InputError(config.where("linear_num_key_heads"), "does not divide the value heads",
                     "a divisor of linear_num_value_heads");
  }
  spec.state_bits = config.string_or("mamba_ssm_dtype", "float32") == "float32" ? 32 : 16;
  return attention;
}

FfnSpec read_experts(JsonObject& config) {
  FfnSpec ffn;
  ffn.kind = FfnKind::kMoe;
  ffn.intermediate = config.integer("moe_intermediate_size", 1, kMaxIntermediate);
  ffn.experts = config.integer("num_experts", 1, kMaxExperts);
  ffn.experts_per_token = read_experts_per_token(config, "num_experts_per_tok", ffn.experts);
  ffn.shared_intermediate = config.integer_or("shared_expert_intermediate_size", 0, 0, kMaxIntermediate);
  ffn.shared_gate = ffn.shared_intermediate > 0;
  config.ignore("intermediate_size");
  return ffn;
}

}  // namespace

ModelSpec read_qwen3_5(JsonObject& config) {
  ModelSpec model = read_outline(config);
  const std::int64_t layers = read_layer_count(config);
  AttentionSpec attention = read_grouped_attention(config, model.hidden);
  attention.qk_norm = true;
  attention.output_gate = config.boolean_or("attn_output_gate", true);
  attention.qkv_bias = attention.output_bias = config.boolean_or("attention_bias", false);
  const AttentionSpec delta_net = read_delta_net(config);
  const FfnSpec ffn = config.has("num_experts") ? read_experts(config) : read_dense_ffn(config);
  for (const bool recurrent : read_recurrent_layers(config, layers))
    append_layer(model, recurrent ? delta_net : attention, ffn);
  for (const char* key : {"decoder_sparse_step", "mlp_only_layers"}) config.ignore(key);
  model.mtp_layers.assign(static_cast<std::size_t>(model.mtp_modules), layer_of(attention, ffn));
  return model;
}

}  // namespace shardplan
