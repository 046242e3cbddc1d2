// Router and routed experts.
//
// Routing: softmax over all experts, the k largest (ties: lower index), renormalised to sum one if asked. An entry is
// (expert id, weight), so a routing array is two floats wide. Experts: y_t = sum_e w_te down_e(silu(gate_e x) * up_e x)
// over the experts, and the slice of their width, that lie here: a partial sum.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "calibrate/kernels/chooser.h"
#include "calibrate/local_array.h"
#include "costmodel/logical_graph.h"

namespace shardplan {

inline constexpr int kRoutingWidth = 2;

struct RouterWeights {
  const LocalArray& weight;
  const LocalArray* bias = nullptr;   // added to the logit of each expert
};

void route(const LocalArray& x, const RouterWeights& router, const ExpertsOp& op, const Chooser& chooser, LocalArray& routing);

// (gate,) up [experts, ffn, hidden], down [experts, hidden, ffn]; biases without the last dimension, nullptr: not added
// here, or none at all.
struct ExpertWeights {
  std::vector<const LocalArray*> weights;
  std::vector<const LocalArray*> biases;
};

// Picks of all tokens that share the experts, as many as an expert's capacity: the first in the order of token ids; of the others
// the expert is kNoExpert and the weight 0. Weights that stay are not renormalised. `groups`: which tokens share experts, where the
// array holds those of several groups; nullptr: all of them do.
inline constexpr std::int64_t kNoExpert = -1;
using TokenGroups = std::map<std::int64_t, int>;   // by token id
struct DropRule {
  double capacity_factor_ratio = 1;
  bool last_first = false;   // a mutation: the last tokens stay
};
void admit(const LocalArray& routing, const DropRule& rule, const ExpertsOp& op, const TokenGroups* groups, LocalArray& out);

void experts(const LocalArray& x, const LocalArray& routing, const ExpertWeights& held, const ExpertsOp& op, LocalArray& out);

// Floats of a row: of all dimensions but the first. Precondition: there are rows.
[[nodiscard]] std::int64_t row_floats(const LocalArray& x);
// See Kernels: rows of a dispatch, and sums of a combine.
[[nodiscard]] std::vector<float> take_rows(const LocalArray& x, const std::vector<std::int64_t>& rows);
void add_rows(const std::vector<float>& values, const std::vector<std::int64_t>& rows, LocalArray& to);

}  // namespace shardplan
