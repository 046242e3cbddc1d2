// DeepSeek-V2, V3, R1 and Kimi-K2: multi-head latent attention and experts. DeepSeek-V3.2 and GLM-5 add DSA: an
// indexer chooses the positions that a query attends to.
//
// The first first_k_dense_replace layers hold a dense FFN, as do those that moe_layer_freq skips. The
// n_shared_experts shared experts are one FFN of n_shared_experts * moe_intermediate_size.
// indexer_types "shared" (GLM-5.2): the layer takes the choice of the last "full" one and keeps no index keys.
// Source: DeepSeek-V2, V3 and V3.2 technical reports and their published modelling code; config of GLM-5.2.
#include <fmt/format.h>

#include "base/errors.h"
#include "models/families/latent.h"
#include "models/families/outline.h"
#include "models/families/readers.h"
#include "models/families/routed.h"
#include "models/in_quotes.h"
#include "models/limits.h"

namespace shardplan {
namespace {

// True for each layer that takes the choice of an earlier indexer.
std::vector<bool> read_shared_indexers(JsonObject& config, std::int64_t layers) {
  std::vector<bool> shared(static_cast<std::size_t>(layers), false);
  const std::vector<std::string> types = config.strings("indexer_types");
  if (types.empty()) return shared;
  if (std::ssize(types) != layers) {
    throw InputError(config.where("indexer_types"), fmt::format("names {} layers", types.size()),
                     fmt::format("{}", layers));
  }
  for (std::size_t layer = 0; layer < types.size(); ++layer) {
    if (types[layer] != "full" && types[layer] != "shared") {
      throw InputError(config.where("indexer_types"), "unknown type " + in_quotes(types[layer]), "full or shared");
    }
    shared[layer] = types[layer] == "shared";
  }
  if (shared.front()) throw InputError(config.where("indexer_types"), "begins with a shared indexer", "\"full\" first");
  return shared;
}

}  // namespace

ModelSpec read_deepseek(JsonObject& config) {
  ModelSpec model = read_outline(config);
  const std::int64_t layers = read_layer_count(config);
  AttentionSpec attention = read_latent_attention(config);
  attention.index = read_indexer(config);
  const std::vector<bool> shared = read_shared_indexers(config, layers);
  const FfnSpec dense = read_dense_ffn(config);
  const FfnSpec experts = read_routed_experts(config);
  const std::int64_t first_sparse = config.integer_or("first_k_dense_replace", 0, 0, kMaxLayers);
  const std::int64_t every = config.integer_or("moe_layer_freq", 1, 1, kMaxLayers);
  for (const char* key : {"mlp_layer_types", "layer_types", "num_experts", "index_topk_freq", "index_skip_topk_offset",
                          "index_share_for_mtp_iteration", "indexer_rope_interleave"}) {
    config.ignore(key);
  }
  for (std::int64_t layer = 0; layer < layers; ++layer) {
    attention.index.shared = shared[static_cast<std::size_t>(layer)];
    append_layer(model, attention, layer >= first_sparse && layer % every == 0 ? experts : dense);
  }
  if (attention.index.heads > 0) {
    attention.index.shared = false;  // an MTP module has an indexer of its own
    model.mtp_layers.assign(static_cast<std::size_t>(model.mtp_modules), layer_of(attention, experts));
  }
  return model;
}

}  // namespace shardplan
