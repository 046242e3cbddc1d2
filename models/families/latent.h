// What the models with multi-head latent attention say in the same words.
#pragma once

#include "base/json.h"
#include "models/model_spec.h"

namespace shardplan {

// Heads, ranks and head sizes of MLA.
[[nodiscard]] AttentionSpec read_latent_attention(JsonObject& config);

// index_n_heads, index_head_dim, index_topk of DSA; no heads when the first is absent.
[[nodiscard]] IndexSpec read_indexer(JsonObject& config);

}  // namespace shardplan
