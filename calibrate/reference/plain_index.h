// Which positions a token attends to, in double: everything, a window, a chunk, or what an indexer chose.
#pragma once

#include <vector>

#include "calibrate/reference/plain_attention.h"

namespace shardplan {

// `q_in`: what index queries are made of (the normed query latent, or x); `rotary`: columns that are turned; `norm`:
// ordinal of the index keys' norm among the layer's norms.
struct PlainIndexer {
  const PlainLayer& layer;
  const AttentionSpec& spec;
  const RaggedBatch& batch;
  const PlainRows& x;
  std::int64_t rotary = 0;
  std::int64_t norm = 1;
};

[[nodiscard]] std::vector<std::int64_t> visible_positions(const PlainIndexer& indexer, std::int64_t token,
                                                          const Vector& q_in);

[[nodiscard]] double plain_dot(const Vector& a, const Vector& b);
[[nodiscard]] const RequestSlice& slice_of(const RaggedBatch& batch, std::int64_t token);

}  // namespace shardplan
