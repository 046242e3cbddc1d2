// Kimi-Linear and Kimi-K3: layers of Kimi delta attention (KDA) and of latent attention with a gate on its output and
// no positions; experts that work in a space of routed_expert_hidden_size behind a projection, beside full shared
// experts.
//
// KDA: q, k and v of all heads through short convolutions, a decay for each key column from a projection of rank
// head_dim, an output gate from one matrix (use_full_rank_gate) or of rank head_dim. linear_attn_config counts layers
// from 1. Kimi-K3 mixes what attn_res_block_size layers left in the residual stream into the input of each block: two
// vectors of weights per block are counted, the mixing itself (a few elementwise reads) is not priced. Source:
// Kimi-Linear report and published modelling code of both.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/errors.h"
#include "models/families/latent.h"
#include "models/families/outline.h"
#include "models/families/readers.h"
#include "models/limits.h"

namespace shardplan {
namespace {

constexpr std::int64_t kMaxStateDim = 4096;
constexpr std::int64_t kMixingVectors = 4;  // a norm and a projection to one column before each of two blocks

AttentionSpec read_delta_attention(JsonObject& linear) {
  AttentionSpec attention;
  attention.kind = AttentionKind::kRecurrent;
  RecurrentSpec& spec = attention.recurrent;
  spec.rule = RecurrentRule::kKeyGatedDelta;
  spec.key_heads = spec.value_heads = attention.q_heads = attention.kv_heads =
      linear.integer("num_heads", 1, kMaxHeads);
  spec.key_dim = spec.value_dim = linear.integer("head_dim", 1, kMaxStateDim);
  spec.conv_width = linear.integer("short_conv_kernel_size", 1, 1024);
  spec.gate_rank = linear.boolean_or("use_full_rank_gate", false) ? 0 : spec.value_dim;
  return attention;
}

// True for each layer that is recurrent.
std::vector<bool> read_recurrent_layers(JsonObject& linear, std::int64_t layers) {
  const Json* list = linear.find("kda_layers");
  const std::string hint = fmt::format("an array of layers from 1 to {}", layers);
  if (list == nullptr || !list->is_array()) throw InputError(linear.where("kda_layers"), "is missing", hint);
  std::vector<bool> recurrent(static_cast<std::size_t>(layers), false);
  for (const Json& entry : *list) {
    const bool good =
        entry.is_number_integer() && entry.get<double>() >= 1 && entry.get<double>() <= static_cast<double>(layers);
    if (!good) throw InputError(linear.where("kda_layers"), "names no layer of the model", hint);
    recurrent[entry.get<std::size_t>() - 1] = true;
  }
  return recurrent;
}

FfnSpec read_experts(JsonObject& config) {
  FfnSpec ffn;
  ffn.kind = FfnKind::kMoe;
  ffn.intermediate = config.integer("moe_intermediate_size", 1, kMaxIntermediate);
  ffn.experts = config.integer("num_experts", 1, kMaxExperts);
  ffn.experts_per_token = read_experts_per_token(
      config, config.has("num_experts_per_token") ? "num_experts_per_token" : "num_experts_per_tok", ffn.experts);
  ffn.shared_intermediate = config.integer_or("num_shared_experts", 0, 0, 1024) * ffn.intermediate;
  ffn.expert_hidden = config.integer_or("routed_expert_hidden_size", 0, 1, kMaxHidden);
  ffn.expert_norm = ffn.expert_hidden > 0 && config.boolean_or("latent_moe_use_norm", false);
  ffn.router_bias = true;
  ffn.renormalise = config.boolean_or("moe_renormalize", true);
  ffn.groups = config.integer_or("num_expert_group", 1, 1, 1);
  for (const char* key : {"topk_group", "topk_method", "use_grouped_topk"}) config.ignore(key);
  return ffn;
}

}  // namespace

ModelSpec read_kimi_linear(JsonObject& config) {
  ModelSpec model = read_outline(config);
  const std::int64_t layers = read_layer_count(config);
  AttentionSpec latent = read_latent_attention(config);
  latent.rotary = !config.boolean_or("mla_use_nope", false);
  latent.output_gate = config.boolean_or("mla_use_output_gate", false);
  JsonObject linear = config.object("linear_attn_config");
  const AttentionSpec delta = read_delta_attention(linear);
  const FfnSpec dense = read_dense_ffn(config);
  const FfnSpec experts = read_experts(config);
  const std::int64_t first_sparse = config.integer_or("first_k_dense_replace", 0, 0, kMaxLayers);
  const std::int64_t every = config.integer_or("moe_layer_freq", 1, 1, kMaxLayers);
  const bool mixes_blocks = config.integer_or("attn_res_block_size", 0, 0, kMaxLayers) > 0;
  std::int64_t layer = 0;
  for (const bool recurrent : read_recurrent_layers(linear, layers)) {
    LayerKind kind =
        layer_of(recurrent ? delta : latent, layer >= first_sparse && layer % every == 0 ? experts : dense);
    kind.extra_vectors = mixes_blocks ? kMixingVectors : 0;
    append_layer(model, kind);
    ++layer;
  }
  if (mixes_blocks) model.notes.emplace_back("the mixing of residual blocks is not priced");
  return model;
}

}  // namespace shardplan
