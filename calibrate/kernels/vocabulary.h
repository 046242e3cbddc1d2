// The two ends of a model: embedding lookup and greedy sampling.
#pragma once

#include "calibrate/kernels/chooser.h"
#include "calibrate/local_array.h"

namespace shardplan {

// Rows of `table` [vocab, hidden]; tokens whose row lies elsewhere give zeros: a partial sum.
void embed(const LocalArray& token_ids, const LocalArray& table, LocalArray& out);
// Index of the largest logit over the whole vocabulary; ties: lower index.
void sample(const LocalArray& logits, const Chooser& chooser, LocalArray& token_ids);

}  // namespace shardplan
