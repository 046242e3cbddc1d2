#include "models/families/latent.h"

#include <fmt/format.h>

#include "base/errors.h"
#include "models/limits.h"

namespace shardplan {

AttentionSpec read_latent_attention(JsonObject& config) {
  AttentionSpec attention;
  attention.kind = AttentionKind::kLatent;
  attention.q_heads = config.integer("num_attention_heads", 1, kMaxHeads);
  attention.kv_heads = 1;
  attention.q_latent = config.integer_or("q_lora_rank", 0, 1, kMaxHidden);
  attention.kv_latent = config.integer("kv_lora_rank", 1, kMaxHidden);
  attention.nope_dim = config.integer("qk_nope_head_dim", 1, kMaxHeadDim);
  attention.rope_dim = config.integer("qk_rope_head_dim", 1, kMaxHeadDim);
  attention.head_dim = attention.nope_dim + attention.rope_dim;
  attention.v_head_dim = config.integer("v_head_dim", 1, kMaxHeadDim);
  attention.qkv_bias = attention.output_bias = config.boolean_or("attention_bias", false);
  for (const char* key : {"num_key_value_heads", "head_dim", "qk_head_dim"}) config.ignore(key);
  return attention;
}

IndexSpec read_indexer(JsonObject& config) {
  IndexSpec index;
  index.heads = config.integer_or("index_n_heads", 0, 1, kMaxHeads);
  if (index.heads == 0) return index;
  index.head_dim = config.integer("index_head_dim", 1, kMaxHeadDim);
  index.top_k = config.integer("index_topk", 1, kMaxPositions);
  index.weighted = true;
  return index;
}

}  // namespace shardplan
