// Llama-Nemotron: blocks found by search (block_configs). A block may lack attention or FFN, and each FFN has a width
// of its own: 2/3 * ffn_mult * hidden, rounded up to a multiple of 256. Source: published modelling code of DeciLM.
// Linear layers in the place of a block, sparse blocks and windows are refused.
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/errors.h"
#include "models/families/outline.h"
#include "models/families/readers.h"
#include "models/limits.h"

namespace shardplan {
namespace {

void refuse_variants(JsonObject& block) {
  for (const char* key : {"replace_with_linear", "sparsify", "window_length", "num_sink_tokens"}) {
    const Json* value = block.find(key);
    const bool set = value != nullptr && *value != Json(false);
    if (set) throw InputError(block.where(key), "is not understood yet", "false or null");
  }
}

AttentionSpec read_block_attention(JsonObject& block, AttentionSpec attention) {
  refuse_variants(block);
  if (block.boolean_or("no_op", false)) {
    attention = AttentionSpec{};
    attention.kind = AttentionKind::kNone;
    attention.kv_heads = 1;
    return attention;
  }
  const std::int64_t group = block.integer("n_heads_in_group", 1, attention.q_heads);
  if (attention.q_heads % group != 0)
    throw InputError(block.where("n_heads_in_group"), "does not divide the query heads", "a divisor");
  attention.kv_heads = attention.q_heads / group;
  return attention;
}

FfnSpec read_block_ffn(JsonObject& block, std::int64_t hidden) {
  refuse_variants(block);
  FfnSpec ffn;
  if (block.boolean_or("no_op", false)) {
    ffn.kind = FfnKind::kNone;
    return ffn;
  }
  const double multiple = block.number("ffn_mult", 0.001, 1000);
  const auto columns = static_cast<std::int64_t>(std::floor(2 * multiple * static_cast<double>(hidden) / 3));
  ffn.intermediate = (columns + 255) / 256 * 256;
  return ffn;
}

}  // namespace

ModelSpec read_nemotron_nas(JsonObject& config) {
  ModelSpec model = read_outline(config);
  AttentionSpec attention = read_grouped_attention(config, model.hidden);
  attention.qkv_bias = attention.output_bias = config.boolean_or("attention_bias", false);
  const std::int64_t layers = read_layer_count(config);
  std::vector<JsonObject> blocks = config.objects("block_configs");
  if (std::ssize(blocks) != layers)
    throw InputError(config.where("block_configs"), "does not list every layer", "one object per layer");
  for (JsonObject& block : blocks) {
    JsonObject mixer = block.object("attention");
    JsonObject ffn = block.object("ffn");
    append_layer(model, read_block_attention(mixer, attention), read_block_ffn(ffn, model.hidden));
  }
  return model;
}

}  // namespace shardplan
