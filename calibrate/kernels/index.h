// Choice of positions for sparse attention: the top_k keys with the best scores among those a token may see.
//
// Weighted (DSA): score = sum_h w_h relu(q_h k). Otherwise (MiniMax-M3) the largest q_h k. With blocks, whole blocks of
// consecutive positions are chosen by their best visible score, the token's own block always. A tie goes to the lower
// position. The chosen positions come in ascending order, then -1.
//
// Where keys lie on several ranks, each names its best positions (or blocks) with their scores, and the best of all
// names are chosen.
#pragma once

#include <vector>

#include "calibrate/kernels/chooser.h"
#include "calibrate/local_array.h"
#include "costmodel/logical_graph.h"

namespace shardplan {

struct IndexInputs {
  const LocalArray& q;                  // [tokens, index heads, dim]
  const LocalArray* weights = nullptr;  // [tokens, index heads]
  std::vector<const LocalArray*> keys;  // [tokens or positions, dim], no position twice
};

// Keys of all positions -> [tokens, top_k].
void choose_positions(const IndexInputs& inputs, const IndexOp& op, const Chooser& chooser, LocalArray& selection);
// Keys of some positions -> [tokens, top_k / block] of (position or block, score); (-1, -inf) where there are fewer.
void name_candidates(const IndexInputs& inputs, const IndexOp& op, const Chooser& chooser, LocalArray& candidates);
// Candidates of all ranks -> [tokens, top_k].
void choose_among(const LocalArray& candidates, const IndexOp& op, const Chooser& chooser, LocalArray& selection);

}  // namespace shardplan
