// Query-key pairs under a causal mask (optionally a window, optionally with a cached prefix), by rank and
// ring step, for the prefill context-parallel layouts.
//
// A query at absolute position i (prefix <= i < prefix+n) sees keys j with max(0, i-window+1) <= j <= i.
// Rank r of P holds the queries of its layout (kBlocked: floor boundaries; kZigzag: blocks r and 2P-1-r of
// 2P, floor boundaries; kStriped: positions with (i / interleave) mod P == r, by absolute position).
// In ring step s rank r works on the fresh keys held by rank (r - s) mod P; prefix keys are counted in step 0.
#pragma once

#include <cstdint>
#include <vector>

#include "costmodel/placement.h"

namespace shardplan {

struct CausalTask {
  Layout layout = Layout::kZigzag;
  std::int64_t parts = 1;
  std::int64_t new_tokens = 0;
  std::int64_t prefix = 0;
  std::int64_t window = 0;      // 0: none
  std::int64_t interleave = 1;  // kStriped
  bool causal = true;           // false: every pair (prefix + new_tokens keys for every query)
};

// All pairs of one rank. Closed form (no loop over positions).
[[nodiscard]] double rank_pairs(const CausalTask& task, std::int64_t rank);
// Pairs of rank r in ring step s. Closed form where it exists, else exact by blocks; never O(n^2).
[[nodiscard]] double step_pairs(const CausalTask& task, std::int64_t rank, std::int64_t step);
// Busiest rank's pairs, all keys present (all-gather).
[[nodiscard]] double busiest_pairs(const CausalTask& task);
// Sum over ring steps of the busiest rank of that step: what a synchronous ring waits for.
[[nodiscard]] double ring_pairs(const CausalTask& task);
// Pairs over all ranks = unsharded pairs.
[[nodiscard]] double total_pairs(const CausalTask& task);

}  // namespace shardplan
