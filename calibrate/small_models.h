// Small random models of each family, and batches with uneven lengths.
#pragma once

#include <cstdint>
#include <vector>

#include "costmodel/batch.h"
#include "models/model_spec.h"

namespace shardplan {

[[nodiscard]] ModelSpec small_dense();        // GQA, 8 query and 4 KV heads, two layers
[[nodiscard]] ModelSpec small_windowed();     // as dense, with a window of 5, sinks and an ungated MLP
[[nodiscard]] ModelSpec small_moe();          // GQA, 8 experts, 2 per token
[[nodiscard]] ModelSpec small_latent();       // MLA with a query latent; a dense layer, then 8 experts and a shared one
[[nodiscard]] ModelSpec small_latent_plain(); // MLA without a query latent, dense

[[nodiscard]] ModelSpec small_gated();        // a gate on the output; chunks; V that is K without positions, norms after branches
[[nodiscard]] ModelSpec small_blocks();       // Mamba2 alone, latent ungated experts alone, attention alone, nothing
[[nodiscard]] ModelSpec small_delta();        // a gated delta net, then GQA
[[nodiscard]] ModelSpec small_key_delta();    // KDA with a full and a narrow gate, then gated MLA without positions
[[nodiscard]] ModelSpec small_sparse();       // MLA with an indexer (DSA), MLA over the same choice (GLM-5.2), GQA over chosen blocks (MiniMax-M3)
[[nodiscard]] ModelSpec small_compressed();   // DeepSeek-V4: a window, chosen entries of 4 tokens, all entries of 3; two residual streams
[[nodiscard]] ModelSpec small_biased();       // biases everywhere, Q/K norms by head and over all heads, a gate on the shared expert
[[nodiscard]] ModelSpec small_drafting();     // two MTP modules: MLA and experts, GQA and a dense FFN

// Those that a check runs, in this order.
[[nodiscard]] std::vector<ModelSpec> small_models();

// Decode sequences holding these many positions, their own included.
[[nodiscard]] RaggedBatch decode_batch(const std::vector<std::int64_t>& contexts);
struct Prompt {
  std::int64_t prefix = 0;
  std::int64_t new_tokens = 0;
};
[[nodiscard]] RaggedBatch prefill_batch(const std::vector<Prompt>& prompts);
[[nodiscard]] RaggedBatch mixed_batch(const std::vector<std::int64_t>& contexts, const std::vector<Prompt>& prompts);

}  // namespace shardplan
