// Operations that touch each element once: activation, sum, and views of some of the tokens.
#pragma once

#include <vector>

#include "calibrate/local_array.h"
#include "costmodel/logical_graph.h"

namespace shardplan {

// f(gate) * up, or f(up) without a gate: inputs in this order.
void activate(const std::vector<const LocalArray*>& inputs, ElementFunction function, LocalArray& out);
void add(const LocalArray& a, const LocalArray& b, LocalArray& out);
// Rows of the parts side by side, the first one first.
void concat(const std::vector<const LocalArray*>& parts, LocalArray& out);
// The elements of `x` that `out` asks for, LSE included: slices, split, last token, a prefix.
void select(const LocalArray& x, LocalArray& out);
// Tokens of both parts in `out`'s order.
void join(const LocalArray& a, const LocalArray& b, LocalArray& out);

[[nodiscard]] float silu(float x);
[[nodiscard]] float sigmoid(float x);
[[nodiscard]] float apply(ElementFunction function, float x);

}  // namespace shardplan
