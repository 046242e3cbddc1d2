// Which element a thread works on, for the host's tests and the device's kernels alike.
#pragma once

#include <cstdint>

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

// Query head h of q_heads reads KV head h * kv_heads / q_heads.
SHARDPLAN_ON_BOTH constexpr std::int64_t kv_head_of(std::int64_t head, std::int64_t q_heads, std::int64_t kv_heads) { return head * kv_heads / q_heads; }

// Whether a query sees a key; `window` 0: no window. Positions are absolute.
SHARDPLAN_ON_BOTH constexpr bool sees(std::int64_t query_request, std::int64_t query, std::int64_t key_request, std::int64_t key, bool causal,
                                      std::int64_t window) {
  if (query_request != key_request) return false;
  if (causal && key > query) return false;
  return window == 0 || query - key < window;
}

// Rows of expert `expert` when `rows` are dealt evenly over `experts`: those in front take one more.
SHARDPLAN_ON_BOTH constexpr std::int64_t dealt_rows(std::int64_t rows, std::int64_t experts, std::int64_t expert) {
  return rows / experts + (expert < rows % experts ? 1 : 0);
}

// Rows of an expert in the permuted order, padded to whole tiles of `tile` rows: where expert e begins is the sum over those before.
SHARDPLAN_ON_BOTH constexpr std::int64_t padded_rows(std::int64_t rows, std::int64_t tile) { return (rows + tile - 1) / tile * tile; }

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
