// Nemotron-H and Nemotron-3: each layer is one block behind one norm: Mamba2, grouped attention without positions, a
// dense FFN or experts, in an order given by hybrid_override_pattern (M, *, -, E) or layers_block_type. FFNs have no
// gate and square their ReLU; experts may work in a space of moe_latent_size behind a projection, the shared expert
// does not. Source: published modelling code of Nemotron-H and Nemotron-3.
#include <fmt/format.h>

#include <array>
#include <map>

#include "base/errors.h"
#include "models/families/outline.h"
#include "models/families/readers.h"
#include "models/families/routed.h"
#include "models/in_quotes.h"
#include "models/limits.h"

namespace shardplan {
namespace {

constexpr std::int64_t kMaxStateDim = 4096;

struct BlockWord {
  char letter;
  std::string_view word;
};
constexpr std::array kBlockWords = {BlockWord{'M', "mamba"}, BlockWord{'*', "attention"}, BlockWord{'-', "mlp"},
                                    BlockWord{'E', "moe"}};

// One letter per layer from either key; empty when both are absent.
std::string read_pattern(JsonObject& config, std::string_view letters_key, std::string_view words_key) {
  std::string pattern = config.string_or(letters_key, "");
  for (const std::string& word : config.strings(words_key)) {
    for (const BlockWord& known : kBlockWords) {
      if (known.word == word) pattern += known.letter;
    }
  }
  for (const char letter : pattern) {
    if (letter == 'M' || letter == '*' || letter == '-' || letter == 'E') continue;
    throw InputError(config.where(letters_key), "unknown block " + in_quotes(std::string(1, letter)),
                     "letters of M, *, - and E");
  }
  if (static_cast<std::int64_t>(pattern.size()) > kMaxLayers)
    throw InputError(config.where(letters_key), "has too many layers", fmt::format("at most {}", kMaxLayers));
  return pattern;
}

AttentionSpec read_mamba(JsonObject& config) {
  AttentionSpec attention;
  attention.kind = AttentionKind::kRecurrent;
  RecurrentSpec& spec = attention.recurrent;
  spec.rule = RecurrentRule::kStateSpace;
  spec.key_heads = attention.kv_heads = config.integer("n_groups", 1, kMaxHeads);
  spec.value_heads = attention.q_heads = config.integer("mamba_num_heads", 1, kMaxHeads);
  spec.key_dim = config.integer("ssm_state_size", 1, kMaxStateDim);
  spec.value_dim = config.integer("mamba_head_dim", 1, kMaxStateDim);
  spec.conv_width = config.integer("conv_kernel", 1, 1024);
  spec.conv_bias = config.boolean_or("use_conv_bias", true);
  spec.state_bits = config.string_or("mamba_ssm_cache_dtype", "float32") == "float32" ? 32 : 16;
  if (spec.value_heads % spec.key_heads != 0)
    throw InputError(config.where("n_groups"), "does not divide the heads", "a divisor of mamba_num_heads");
  return attention;
}

FfnSpec read_ffn(JsonObject& config) {
  FfnSpec ffn = read_dense_ffn(config);
  ffn.gated = false;
  ffn.activation = Activation::kRelu2;
  ffn.bias = config.boolean_or("mlp_bias", false);
  return ffn;
}

FfnSpec read_experts(JsonObject& config) {
  FfnSpec ffn;
  ffn.kind = FfnKind::kMoe;
  ffn.gated = false;
  ffn.activation = Activation::kRelu2;
  ffn.intermediate = config.integer("moe_intermediate_size", 1, kMaxIntermediate);
  ffn.experts = config.integer("n_routed_experts", 1, kMaxExperts);
  ffn.experts_per_token = read_experts_per_token(config, "num_experts_per_tok", ffn.experts);
  ffn.shared_intermediate = config.integer_or("n_shared_experts", 0, 0, 1024) *
                            config.integer_or("moe_shared_expert_intermediate_size", 0, 0, 1'000'000);
  ffn.expert_hidden = config.integer_or("moe_latent_size", 0, 1, kMaxHidden);
  read_group_routing(config, ffn);
  ffn.router_bias = true;
  return ffn;
}

LayerKind block_of(char letter, JsonObject& config, std::int64_t hidden) {
  AttentionSpec none;
  none.kind = AttentionKind::kNone;
  none.kv_heads = 1;
  FfnSpec no_ffn;
  no_ffn.kind = FfnKind::kNone;
  if (letter == 'M') return layer_of(read_mamba(config), no_ffn);
  if (letter == '-') return layer_of(none, read_ffn(config));
  if (letter == 'E') return layer_of(none, read_experts(config));
  AttentionSpec attention = read_grouped_attention(config, hidden);
  attention.head_dim = attention.v_head_dim =
      config.integer_or("attention_head_dim", attention.head_dim, 1, kMaxHeadDim);
  attention.rotary = false;
  return layer_of(attention, no_ffn);
}

}  // namespace

ModelSpec read_nemotron_h(JsonObject& config) {
  ModelSpec model = read_outline(config);
  const std::string pattern = read_pattern(config, "hybrid_override_pattern", "layers_block_type");
  if (pattern.empty()) {
    throw InputError(config.where("hybrid_override_pattern"), "is missing", "one letter of M, *, - and E per layer");
  }
  const std::int64_t layers =
      config.integer_or("num_hidden_layers", static_cast<std::int64_t>(pattern.size()), 1, kMaxLayers);
  if (layers != static_cast<std::int64_t>(pattern.size())) {
    throw InputError(config.where("hybrid_override_pattern"), fmt::format("names {} layers", pattern.size()),
                     fmt::format("{}", layers));
  }
  const std::string draft = read_pattern(config, "mtp_hybrid_override_pattern", "mtp_layers_block_type");
  std::map<char, LayerKind> blocks;
  for (const char letter : pattern + draft) {
    if (!blocks.contains(letter)) blocks.emplace(letter, block_of(letter, config, model.hidden));
  }
  for (const char letter : pattern) append_layer(model, blocks.at(letter));
  if (model.mtp_modules * static_cast<std::int64_t>(draft.size()) > kMaxLayers) {
    throw InputError(config.where("mtp_hybrid_override_pattern"), "has too many layers",
                     fmt::format("at most {} over all modules", kMaxLayers));
  }
  for (std::int64_t module = 0; module < model.mtp_modules; ++module) {
    for (const char letter : draft) model.mtp_layers.push_back(blocks.at(letter));
  }
  for (const char* key : {"intermediate_size", "expand", "chunk_size", "time_step_rank", "mamba_head_dim", "head_dim",
                          "moe_shared_expert_overlap"})
    config.ignore(key);
  return model;
}

}  // namespace shardplan
