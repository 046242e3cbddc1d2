// Which element a thread works on, for the host's tests and the device's kernels alike.
#pragma once

#include <cstdint>
#include <vector>

#include "calibrate/on_both.h"

namespace shardplan::cuda {

struct Range {
  std::int64_t first = 0;
  std::int64_t end = 0;
};

// Part `split` of `splits` of `count` keys, whole tiles of `tile` each but for the last: parts may be empty.
SHARDPLAN_ON_BOTH constexpr Range split_range(std::int64_t count, std::int64_t splits, std::int64_t split, std::int64_t tile) {
  const std::int64_t tiles = (count + tile - 1) / tile;
  const std::int64_t first = tiles * split / splits * tile;
  const std::int64_t end = tiles * (split + 1) / splits * tile;
  return {first < count ? first : count, end < count ? end : count};
}

// Parts that give every multiprocessor of the device something to do, no more than there are tiles.
SHARDPLAN_ON_BOTH constexpr std::int64_t decode_splits(std::int64_t rows, std::int64_t keys, std::int64_t tile, std::int64_t multiprocessors) {
  const std::int64_t tiles = (keys + tile - 1) / tile;
  std::int64_t splits = rows > 0 ? (2 * multiprocessors + rows - 1) / rows : 1;
  if (splits > tiles) splits = tiles;
  return splits < 1 ? 1 : splits;
}

// Keys that a block holds at once in `shared_bytes`, at most one for each lane of a warp, at least one.
SHARDPLAN_ON_BOTH constexpr std::int64_t tile_keys(std::int64_t qk_dim, std::int64_t v_dim, std::int64_t shared_bytes) {
  const std::int64_t keys = shared_bytes / (static_cast<std::int64_t>(sizeof(float)) * (qk_dim + v_dim));
  return keys > 32 ? 32 : keys < 1 ? 1 : keys;
}

// What a block of attention works on. Heads of a group read the same KV head: their rows, (token, head within the group), are dealt to
// the warps of blocks along x; y is the group, z the part of the keys and the request.
struct AttentionBlock {
  std::int64_t request = 0;
  std::int64_t split = 0;
};
SHARDPLAN_ON_BOTH constexpr AttentionBlock attention_block(std::int64_t z, std::int64_t splits) { return {z / splits, z % splits}; }
struct AttentionRow {
  std::int64_t token = 0;   // >= tokens: none
  std::int64_t head = 0;
};
SHARDPLAN_ON_BOTH constexpr AttentionRow attention_row(std::int64_t x, std::int64_t warp, std::int64_t warps, std::int64_t group, std::int64_t y) {
  const std::int64_t row = x * warps + warp;
  return {row / group, y * group + row % group};
}

// Keys in order of position, from 0, that any of the queries at positions `first` to `last` may see.
SHARDPLAN_ON_BOTH constexpr Range visible_keys(std::int64_t first, std::int64_t last, std::int64_t keys, bool causal, std::int64_t window) {
  const std::int64_t end = causal && last + 1 < keys ? last + 1 : keys;
  const std::int64_t begin = window > 0 && first - window + 1 > 0 ? first - window + 1 : 0;
  return {begin < end ? begin : end, end};
}

// Query head h of q_heads reads KV head h * kv_heads / q_heads.
SHARDPLAN_ON_BOTH constexpr std::int64_t kv_head_of(std::int64_t head, std::int64_t q_heads, std::int64_t kv_heads) { return head * kv_heads / q_heads; }

// Whether a query sees a key; `window` 0: no window. Positions are absolute.
SHARDPLAN_ON_BOTH constexpr bool sees(std::int64_t query_request, std::int64_t query, std::int64_t key_request, std::int64_t key, bool causal,
                                      std::int64_t window) {
  if (query_request != key_request) return false;
  if (causal && key > query) return false;
  return window == 0 || query - key < window;
}

// How often work that takes so long is captured behind itself: a replay must outlast what the host takes to queue the next one, and a
// hundred of it say no more than one.
constexpr int rounds_of_graph(double seconds) {
  constexpr double kLeastSeconds = 300e-6;
  constexpr int kMost = 100;
  if (!(seconds > 0) || seconds * kMost <= kLeastSeconds) return kMost;
  const double rounds = kLeastSeconds / seconds;
  return rounds <= 1 ? 1 : static_cast<int>(rounds) + 1;
}

// The largest power of two up to 256 that divides every one of the distances between matrices, in bytes.
inline std::uint32_t common_alignment(const std::vector<std::int64_t>& distances) {
  std::uint32_t alignment = 256;
  for (const std::int64_t bytes : distances) {
    while (bytes % alignment != 0) alignment /= 2;
  }
  return alignment;
}

// Where the matrix of each expert with rows begins: rows lie one behind the other, `each` elements a row; weights of all experts do
// (`whole`), `each` elements an expert.
inline std::vector<std::int64_t> group_offsets(const std::vector<std::int64_t>& rows, std::int64_t each, bool whole) {
  std::vector<std::int64_t> offsets;
  std::int64_t at = 0;
  for (const std::int64_t count : rows) {
    if (count > 0) offsets.push_back(at);
    at += (whole ? 1 : count) * each;
  }
  return offsets;
}

// Part of one expert's rows in the permuted order; empty behind the last.
struct RowTile {
  std::int64_t expert = 0;
  Range rows;
};

// The `index`th tile of at most `tile` rows when each expert's rows, begins[e] to begins[e + 1], are cut by themselves. There are at
// most row_tiles() of them.
SHARDPLAN_ON_BOTH constexpr RowTile row_tile(const std::int32_t* begins, std::int64_t experts, std::int64_t tile, std::int64_t index) {
  for (std::int64_t e = 0; e < experts; ++e) {
    const std::int64_t rows = begins[e + 1] - begins[e];
    const std::int64_t tiles = (rows + tile - 1) / tile;
    if (index >= tiles) {
      index -= tiles;
      continue;
    }
    const std::int64_t first = begins[e] + index * tile;
    return {e, {first, first + tile < begins[e + 1] ? first + tile : begins[e + 1]}};
  }
  return {experts, {0, 0}};
}
SHARDPLAN_ON_BOTH constexpr std::int64_t row_tiles(std::int64_t rows, std::int64_t experts, std::int64_t tile) {
  return rows / tile + (experts < rows ? experts : rows);
}

// How many flags are set before this lane's: `ballots` are the flags of each warp, a bit for a lane.
SHARDPLAN_ON_BOTH constexpr std::int32_t flags_before(const std::uint32_t* ballots, int warp, int lane) {
  std::int32_t count = 0;
  for (int w = 0; w <= warp; ++w) {
    std::uint32_t bits = w < warp ? ballots[w] : ballots[w] & ((1U << static_cast<unsigned>(lane)) - 1U);
    for (; bits != 0; bits &= bits - 1) ++count;
  }
  return count;
}

// The other column of a rotated pair, and which half this one is in.
SHARDPLAN_ON_BOTH constexpr std::int64_t rotary_partner(std::int64_t column, std::int64_t columns) {
  const std::int64_t half = columns / 2;
  return column < half ? column + half : column - half;
}

}  // namespace shardplan::cuda
