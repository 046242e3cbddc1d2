// The executor's arrays as our kernels take them: made on the host, and needing no device.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "base/errors.h"
#include "calibrate/kernels/moe.h"
#include "calibrate/local_array.h"
#include "calibrate/run/drawn_routing.h"
#include "calibrate/token_id.h"

namespace shardplan::cuda {

// Rows of `columns` floats that begin at `offsets`, one below the other.
[[nodiscard]] inline std::vector<float> rows_at(const LocalArray& x, const std::vector<std::int64_t>& offsets,
                                                std::int64_t columns) {
  std::vector<float> rows;
  rows.reserve(offsets.size() * static_cast<std::size_t>(columns));
  for (const std::int64_t at : offsets) rows.insert(rows.end(), x.values.begin() + at, x.values.begin() + at + columns);
  return rows;
}

// Absolute position of each row of [tokens, ..., columns].
[[nodiscard]] inline std::vector<std::int64_t> row_positions(const LocalArray& x) {
  const auto& tokens = x.ids(Dim::kTokens);
  const std::int64_t rows = x.rows();
  std::vector<std::int64_t> positions;
  for (std::int64_t row = 0; row < rows; ++row)
    positions.push_back(position_of(tokens[static_cast<std::size_t>(row * std::ssize(tokens) / rows)]));
  return positions;
}

// The picks of tokens, and the rows of x that belong to them.
struct ExpertPairs {
  std::int64_t tokens = 0;
  std::int64_t held = 0;              // experts of this rank
  std::int64_t rows = 0;              // pairs whose expert is one of them
  std::vector<std::int32_t> experts;  // [tokens, per_token]: place among those held, -1: elsewhere
  std::vector<float> weights;         // [tokens, per_token]
  std::vector<float> x;               // [tokens, hidden]
};

// InternalError where the experts' matrices are cut differently, as the host's kernel.
[[nodiscard]] inline ExpertPairs expert_pairs(const LocalArray& x, const LocalArray& routing,
                                              const ExpertWeights& weights, const ExpertsOp& op,
                                              const LocalArray& out) {
  const LocalDim tokens = out.dims.front();
  const auto& held = weights.weights.front()->ids(Dim::kExperts);
  ensure(weights.weights.back()->ids(Dim::kExperts) == held &&
             weights.weights.back()->ids(Dim::kFfn) == weights.weights.front()->ids(Dim::kFfn),
         "expert matrices are cut differently");
  ExpertPairs pairs{.tokens = std::ssize(tokens.ids), .held = std::ssize(held)};
  for (const std::int64_t at : offsets_of(routing.dims, {tokens}, "routing of experts")) {
    for (std::int64_t j = 0; j < op.per_token; ++j) {
      const float* entry = routing.values.data() + (at + j) * kRoutingWidth;
      const auto found = std::find(held.begin(), held.end(), static_cast<std::int64_t>(entry[0]));
      pairs.experts.push_back(found == held.end() ? -1 : static_cast<std::int32_t>(found - held.begin()));
      pairs.weights.push_back(entry[1]);
      pairs.rows += found == held.end() ? 0 : 1;
    }
  }
  pairs.x = rows_at(x, offsets_of(x.dims, {tokens}, "x of experts"), weights.weights.front()->columns());
  return pairs;
}

// The routed experts of a measured rank: the tokens that have one of them among their picks, and those picks.
struct MeasuredExperts {
  std::int64_t tokens = 0;
  std::int64_t per_token = 1;
  std::int64_t hidden = 0;
  std::int64_t wide = 0;  // of gate and up together, or of up alone
  bool gated = true;
  std::vector<std::int32_t> experts;  // [tokens, per_token]: place among those held, -1: elsewhere
  std::vector<std::int64_t> rows;     // of each expert held
  [[nodiscard]] std::int64_t all_rows() const { return std::accumulate(rows.begin(), rows.end(), std::int64_t{0}); }
  [[nodiscard]] std::int64_t width() const { return gated ? wide / 2 : wide; }
};

[[nodiscard]] inline MeasuredExperts measured_experts(const DrawnRouting& routing, std::int64_t first_expert,
                                                      std::int64_t held) {
  MeasuredExperts out{.per_token = routing.per_token,
                      .experts = {},
                      .rows = std::vector<std::int64_t>(static_cast<std::size_t>(held), 0)};
  for (std::int64_t token = 0; token < routing.tokens(); ++token) {
    std::vector<std::int32_t> picks;
    for (std::int64_t j = 0; j < routing.per_token; ++j) {
      const std::int64_t local = routing.picks[static_cast<std::size_t>(token * routing.per_token + j)] - first_expert;
      picks.push_back(local >= 0 && local < held ? static_cast<std::int32_t>(local) : -1);
      if (picks.back() >= 0) ++out.rows[static_cast<std::size_t>(local)];
    }
    if (std::all_of(picks.begin(), picks.end(), [](std::int32_t pick) { return pick < 0; })) continue;
    out.experts.insert(out.experts.end(), picks.begin(), picks.end());
    ++out.tokens;
  }
  return out;
}

}  // namespace shardplan::cuda
