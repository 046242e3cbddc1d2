// Compressed entries, request by request: keys of a block of tokens mixed by a softmax over learned gates.
//
// The entry that ends with position p, (p+1) mod R = 0, is for each column c
//   sum_t softmax_t(gate_t[c] + table_{t mod R}[c]) key_t[c]   over the R tokens up to p.
// Overlapping (R = 4) keys and gates are twice as wide: the block before gives its first half, the own block its
// second. Keys and gates of the last span() tokens are the state: slot position mod span, keys then gates.
#pragma once

#include "calibrate/local_array.h"
#include "costmodel/logical_graph.h"

namespace shardplan {

struct CompressInputs {
  const LocalArray& keys;  // [tokens, columns]; tokens of a request in order
  const LocalArray& gates;
  const LocalArray& table;  // [ratio * columns]
};

// Rows of `entries` ([tokens, width]) where no block ends are zero; `state` ([requests, 2 span columns]) is advanced.
void compress(const CompressInputs& inputs, const CompressOp& op, LocalArray& state, LocalArray& entries);

}  // namespace shardplan
