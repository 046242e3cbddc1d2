// The quantities of a batch that prices depend on: tokens, positions and query-key pairs on the busiest rank.
//
// A step graph is compiled once into coefficient x symbol terms; a batch shape is then priced by evaluating each
// distinct symbol once. The same symbols, evaluated exactly for a list of requests, give the executor its byte counts.
#pragma once

#include <cstdint>
#include <vector>

#include "costmodel/batch.h"
#include "costmodel/causal_load.h"
#include "costmodel/index_sets.h"
#include "costmodel/mesh.h"
#include "costmodel/placement.h"

namespace shardplan {

enum class SymbolKind : std::uint8_t {
  kOne,              // 1: what does not depend on the batch
  kTokens,           // new tokens of `phase` on the busiest rank under the split
  kDecodePositions,  // positions that the decode sequences attend to (within the window), own tokens included
  kDecodePairs,      // the same for each of their tokens: query-key pairs
  kPrefixPositions,  // cached positions of the prefill sequences under the split
  kKeyPositions,     // keys a prefill reads: prefix (within the window) and fresh, all of them
  kPrefillPairs,     // query-key pairs of the busiest rank, all keys present
  kPrefillSequences, // prompts that a rank works on
  kRingPairs,        // sum over ring steps of the busiest rank's pairs
};

struct Symbol {
  SymbolKind kind = SymbolKind::kOne;
  Phase phase = Phase::kAll;
  ShardList list;        // of the ragged dimension
  RaggedSplit split;              // the same, reduced for the closed forms
  std::int64_t window = 0;
  std::int64_t every = 1;         // kPrefixPositions: rows that are there, in positions
  bool causal = true;
  friend bool operator==(const Symbol& a, const Symbol& b);
};

// Value for an even batch, closed form.
[[nodiscard]] double evaluate(const Symbol& symbol, const BatchShape& shape);
// The same averaged over ranks: evaluate / mean is the imbalance that others wait for. Pairs only; others return evaluate.
[[nodiscard]] double evaluate_mean(const Symbol& symbol, const BatchShape& shape);
// Largest count on any rank of `mesh` for a list of requests. kTokens, kPrefixPositions only.
[[nodiscard]] std::int64_t evaluate_exactly(const Symbol& symbol, const Mesh& mesh, const RaggedBatch& batch);

}  // namespace shardplan
