// The indexer of sparse attention: scores of all positions by small keys of their own, and the choice of the best.
//
// DSA: q from the query latent, score(j) = sum_h w_h relu(q_h k_j). MiniMax-M3: q from x, score(j) = max_h q_h k_j,
// whole blocks chosen by their best score. Queries, keys and their cache are the same on every rank of an attention
// group, as engines run it. Sources: DeepSeek-V3.2 report, section 2.1; published modelling code of MiniMax-M3.
#pragma once

#include "costmodel/layers/builder.h"

namespace shardplan {

struct Indexer {
  TensorId q = -1;
  TensorId k = -1;
  TensorId weights = -1;  // -1: the largest score of all heads counts
  std::int64_t every = 1; // tokens of one key: DeepSeek-V4 indexes compressed entries
};

// The projections; `q_in` is what queries are made of (the query latent, or x), `rotary` how many columns are turned.
[[nodiscard]] Indexer build_indexer(LayerBuilder& build, TensorId x, TensorId q_in, const LayerKind& kind,
                                    std::int64_t rotary);
// Writes the keys of one phase and returns the positions chosen for each of its tokens.
[[nodiscard]] TensorId select_decode(LayerBuilder& build, const Indexer& indexer, const IndexSpec& spec);
[[nodiscard]] TensorId select_prefill(LayerBuilder& build, const Indexer& indexer, const IndexSpec& spec);

}  // namespace shardplan
