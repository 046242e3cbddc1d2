// MiniMax-M3: grouped attention with norms per head, and experts beside one shared expert, after dense layers of
// dense_intermediate_size. Where sparse_attention_freq says so, an indexer of few heads chooses whole blocks of
// sparse_block_size positions by the largest score in them: sparse_topk_blocks of them.
// Source: published modelling code of MiniMax-M3. Layers whose indexer also attends (sparse_disable_index_value 0) are
// refused.
#include <nlohmann/json.hpp>

#include "base/errors.h"
#include "models/families/outline.h"
#include "models/families/readers.h"
#include "models/limits.h"

namespace shardplan {
namespace {

IndexSpec read_index(JsonObject& sparse) {
  IndexSpec index;
  index.heads = sparse.integer("sparse_num_index_heads", 1, kMaxHeads);
  index.head_dim = sparse.integer("sparse_index_dim", 1, kMaxHeadDim);
  index.block = sparse.integer("sparse_block_size", 1, 1'000'000);
  index.top_k = sparse.integer("sparse_topk_blocks", 1, 1'000'000) * index.block;
  return index;
}

FfnSpec read_experts(JsonObject& config) {
  FfnSpec ffn;
  ffn.kind = FfnKind::kMoe;
  ffn.intermediate = config.integer("moe_intermediate_size", 1, kMaxIntermediate);
  ffn.experts = config.integer("num_local_experts", 1, kMaxExperts);
  ffn.experts_per_token = read_experts_per_token(config, "num_experts_per_tok", ffn.experts);
  ffn.router_bias = config.boolean_or("use_routing_bias", true);
  ffn.shared_intermediate = config.integer_or("n_shared_experts", 0, 0, 1024) *
                            config.integer_or("shared_intermediate_size", 0, 0, 1'000'000);
  return ffn;
}

}  // namespace

ModelSpec read_minimax_m3(JsonObject& config) {
  ModelSpec model = read_outline(config);
  const std::int64_t layers = read_layer_count(config);
  AttentionSpec attention = read_grouped_attention(config, model.hidden);
  attention.qk_norm = config.boolean_or("use_qk_norm", true);
  const FfnSpec experts = read_experts(config);
  FfnSpec dense;
  dense.intermediate = config.integer("dense_intermediate_size", 1, kMaxIntermediate);
  JsonObject sparse = config.object("sparse_attention_config");
  const IndexSpec index = read_index(sparse);
  const auto is_sparse = read_flags(sparse, "sparse_attention_freq", layers);
  const auto no_value = read_flags(sparse, "sparse_disable_index_value", layers);
  const auto is_moe = read_flags(config, "moe_layer_freq", layers);
  for (const char* key : {"intermediate_size", "first_k_dense_replace"}) config.ignore(key);
  for (std::size_t layer = 0; layer < static_cast<std::size_t>(layers); ++layer) {
    const bool indexed = is_sparse.empty() || is_sparse[layer] != 0;
    if (indexed && !no_value.empty() && no_value[layer] == 0) {
      throw InputError(sparse.where("sparse_disable_index_value"), "an indexer with values of its own is not known",
                       "1 for sparse layers");
    }
    attention.index = indexed ? index : IndexSpec{};
    append_layer(model, attention, is_moe.empty() || is_moe[layer] != 0 ? experts : dense);
  }
  return model;
}

}  // namespace shardplan
