// DeepSeek-V4: queries from a latent, one key that is its own value, a window of tokens beside compressed entries
// (one for compress_ratios[i] tokens; at ratio 4 an indexer chooses among them), grouped low-rank output projection,
// hc_mult residual streams mixed around each block.
//
// Source: published modelling code of DeepSeek-V4 in vLLM (compressor, indexer, attention, hyper-connections). The
// first num_hash_layers layers route by a table [vocab, experts_per_token] of integers, which is no parameter.
#include "models/families/latent.h"
#include "models/families/outline.h"
#include "models/families/readers.h"
#include "models/families/routed.h"
#include "models/limits.h"

namespace shardplan {
namespace {

constexpr std::int64_t kIndexedRatio = 4;  // entries are few enough to attend to all at higher ratios

AttentionSpec read_attention(JsonObject& config) {
  AttentionSpec attention;
  attention.kind = AttentionKind::kCompressed;
  attention.q_heads = config.integer("num_attention_heads", 1, kMaxHeads);
  attention.kv_heads = config.integer_or("num_key_value_heads", 1, 1, 1);
  attention.head_dim = attention.v_head_dim = config.integer("head_dim", 1, kMaxHeadDim);
  attention.rope_dim = config.integer("qk_rope_head_dim", 1, attention.head_dim);
  attention.nope_dim = attention.head_dim - attention.rope_dim;
  attention.q_latent = config.integer("q_lora_rank", 1, kMaxHidden);
  attention.window = config.integer("sliding_window", 1, kMaxPositions);
  attention.sinks = true;
  attention.compressed.output_rank = config.integer("o_lora_rank", 1, kMaxHidden);
  attention.compressed.output_groups = config.integer("o_groups", 1, attention.q_heads);
  attention.compressed.streams = config.integer_or("hc_mult", 0, 1, 64);
  return attention;
}

}  // namespace

ModelSpec read_deepseek_v4(JsonObject& config) {
  ModelSpec model = read_outline(config);
  const std::int64_t layers = read_layer_count(config);
  AttentionSpec attention = read_attention(config);
  const IndexSpec index = read_indexer(config);
  const FfnSpec experts = read_routed_experts(config);
  // The list names the MTP layers, too.
  const std::vector<std::int64_t> ratios = read_flags(config, "compress_ratios", layers + model.mtp_modules);
  for (const char* key : {"num_hash_layers", "hc_sinkhorn_iters", "hc_eps", "compress_rope_theta", "swiglu_limit"})
    config.ignore(key);
  for (std::int64_t layer = 0; layer < layers; ++layer) {
    attention.compressed.ratio = ratios.empty() ? 0 : ratios[static_cast<std::size_t>(layer)];
    attention.index = attention.compressed.ratio == kIndexedRatio ? index : IndexSpec{};
    append_layer(model, attention, experts);
  }
  attention.compressed.ratio = 0;
  attention.index = IndexSpec{};
  model.mtp_layers.assign(static_cast<std::size_t>(model.mtp_modules), layer_of(attention, experts));
  if (ratios.empty()) model.notes.emplace_back("compress_ratios is missing: every layer is taken for a window");
  return model;
}

}  // namespace shardplan
