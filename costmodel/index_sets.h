// Which elements of a dimension a rank holds under a placement, and how many the busiest rank holds.
//
// Lists are cut run by run: consecutive digits of a dimension with the same layout cut together, into
// product-of-sizes parts indexed by their mixed-radix coordinate (first digit most
// significant; stripes count the outer digit fastest, so that a run cut short at its tail still holds the longer
// run's elements). Everything that knows a layout is here:
// masks, rotary positions, cache ownership, uneven lengths and empty ranks follow from the global indices.
#pragma once

#include <cstdint>
#include <vector>

#include "costmodel/batch.h"
#include "costmodel/placement.h"

namespace shardplan {

// One element of a ragged dimension: a token or a cached position.
struct TokenIndex {
  std::int64_t request = 0;   // RequestSlice::request
  std::int64_t position = 0;  // absolute
  Phase phase = Phase::kPrefill;
  friend bool operator==(const TokenIndex&, const TokenIndex&) = default;
};

// The new tokens of a batch (kTokens) of one phase, in batch order, then by position.
[[nodiscard]] std::vector<TokenIndex> batch_tokens(const RaggedBatch& batch, Phase phase);
// Which cached positions have a row: see Tensor.
struct CachedRows {
  std::int64_t every = 1;
  std::int64_t window = 0;
  friend bool operator==(const CachedRows&, const CachedRows&) = default;
};
// The cached positions [0, end) of the batch's requests of one phase that have a row: end = prefix, or prefix+new when `with_new`.
[[nodiscard]] std::vector<TokenIndex> batch_positions(const RaggedBatch& batch, Phase phase, bool with_new, CachedRows rows = {});

// Global indices of a fixed dimension of `extent` elements that `rank` holds, ascending.
[[nodiscard]] std::vector<std::int64_t> held_indices(const Mesh& mesh, const ShardList& list, std::int64_t extent, std::int64_t rank);
// Indices into `all` (a list from batch_tokens / batch_positions) that `rank` holds, ascending.
[[nodiscard]] std::vector<std::int64_t> held_tokens(const Mesh& mesh, const ShardList& list, const RaggedBatch& batch,
                                                    const std::vector<TokenIndex>& all, std::int64_t interleave, std::int64_t rank);

// Largest number of elements on any rank, closed form. Fixed dimensions:
[[nodiscard]] std::int64_t max_held(const Mesh& mesh, const ShardList& list, std::int64_t extent);

// A ragged list reduced to what the closed forms need: its runs of (layout, parts).
struct RaggedSplit {
  struct Run { Layout layout; std::int64_t parts; };
  std::vector<Run> runs;
  std::int64_t interleave = 1;
  friend bool operator==(const RaggedSplit&, const RaggedSplit&);
};
[[nodiscard]] RaggedSplit ragged_split(const Mesh& mesh, const ShardList& list, std::int64_t interleave);
// Tokens of `phase` on the busiest rank for an even batch. Exact for one phase when the list is whole requests, then
// at most one layout within requests, then flat. An upper bound where kAll adds two phases whose busiest ranks differ
// (zigzag, striped), where stripes cut what is no longer consecutive, and where other layouts follow a flat one.
[[nodiscard]] double max_tokens(const RaggedSplit& split, const BatchShape& shape, Phase phase);
// Cached positions on the busiest rank when each of the phase's sequences has `length` of them, from position 0.
// A fractional length (a mean) interpolates under stripes and rounds up elsewhere.
[[nodiscard]] double max_positions(const RaggedSplit& split, std::int64_t sequences, double length);

}  // namespace shardplan
