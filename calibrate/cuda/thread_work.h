// What one thread of our kernels computes, for the host's tests and the device's kernels alike. The order of operations
// is that of the host's kernels (calibrate/kernels/), but for the contraction of products and sums into one rounding.
#pragma once

#include <cmath>
#include <cstdint>

#include "calibrate/cuda/index_logic.h"

namespace shardplan::cuda {

// As ElementFunction, of which kernels know no more than this.
enum class Activation : std::uint8_t { kSilu, kSigmoid, kRelu2 };

SHARDPLAN_ON_BOTH inline float activated(Activation function, float x) {
  if (function == Activation::kRelu2) return x > 0.0F ? x * x : 0.0F;
  const float sigmoid = 1.0F / (1.0F + expf(-x));
  return function == Activation::kSigmoid ? sigmoid : x / (1.0F + expf(-x));
}

// One pair of the `columns` columns of a row, which turn by the row's position; base 10000.
SHARDPLAN_ON_BOTH inline void turn_pair(float* columns_of_row, std::int64_t columns, std::int64_t column,
                                        std::int64_t position) {
  const double angle =
      static_cast<double>(position) * pow(10000.0, -2.0 * static_cast<double>(column) / static_cast<double>(columns));
  const auto cosine = static_cast<float>(cos(angle));
  const auto sine = static_cast<float>(sin(angle));
  const std::int64_t other = rotary_partner(column, columns);
  const float a = columns_of_row[column];
  const float b = columns_of_row[other];
  columns_of_row[column] = a * cosine - b * sine;
  columns_of_row[other] = a * sine + b * cosine;
}

// The per_token largest of a token's logits, ties to the lower index. Precondition: per_token <= count, no NaN.
SHARDPLAN_ON_BOTH inline void choose_experts(const float* logits, std::int64_t count, std::int64_t per_token,
                                             std::int32_t* chosen) {
  float bound = 0;
  std::int64_t last = -1;  // the choice before: the next is smaller, or equal with a higher index
  for (std::int64_t j = 0; j < per_token; ++j) {
    std::int64_t best = -1;
    for (std::int64_t e = 0; e < count; ++e) {
      const bool left = last < 0 || logits[e] < bound || (logits[e] == bound && e > last);
      if (left && (best < 0 || logits[e] > logits[best])) best = e;
    }
    if (best < 0) best = 0;  // only with NaN
    bound = logits[best];
    last = best;
    chosen[j] = static_cast<std::int32_t>(best);
  }
}

// Shares of the chosen experts in the softmax over all, which sum to one if asked.
SHARDPLAN_ON_BOTH inline void expert_shares(const float* logits, std::int64_t count, const std::int32_t* chosen,
                                            std::int64_t per_token, bool renormalise, float* shares) {
  float most = logits[0];
  for (std::int64_t e = 1; e < count; ++e) most = logits[e] > most ? logits[e] : most;
  float all = 0;
  for (std::int64_t e = 0; e < count; ++e) all += expf(logits[e] - most);
  float sum = 0;
  for (std::int64_t j = 0; j < per_token; ++j) sum += shares[j] = expf(logits[chosen[j]] - most) / all;
  for (std::int64_t j = 0; renormalise && j < per_token; ++j) shares[j] /= sum;
}

// One number of the products of routed experts: out[row, column] = x[row] . w[expert, column] + bias[expert, column];
// bias may be null.
struct GroupedShape {
  std::int64_t n = 0;
  std::int64_t k = 0;
};
SHARDPLAN_ON_BOTH inline float grouped_number(const GroupedShape& shape, const float* x, const float* w,
                                              const float* bias, std::int64_t expert, std::int64_t row,
                                              std::int64_t column) {
  const std::int64_t of_expert = expert * shape.n + column;
  const float* a = x + row * shape.k;
  const float* b = w + of_expert * shape.k;
  float sum = 0;
  for (std::int64_t c = 0; c < shape.k; ++c) sum += a[c] * b[c];
  return bias != nullptr ? sum + bias[of_expert] : sum;
}

// One number of a token's sum over its experts' rows, `number(row)` being theirs; pairs of experts that lie elsewhere
// have slot -1.
template <class Number>
SHARDPLAN_ON_BOTH inline float returned_number(Number number, const std::int32_t* slot, const float* weights,
                                               std::int64_t per_token, std::int64_t token) {
  float sum = 0;
  for (std::int64_t pair = token * per_token; pair < (token + 1) * per_token; ++pair) {
    if (slot[pair] >= 0) sum += weights[pair] * number(slot[pair]);
  }
  return sum;
}

// Of two entries of a row the larger, at the lower index where they are equal.
struct Entry {
  float value = 0;
  std::int64_t index = -1;  // < 0: none
};
SHARDPLAN_ON_BOTH constexpr Entry larger(Entry a, Entry b) {
  if (a.index < 0) return b;
  if (b.index < 0) return a;
  return b.value > a.value || (b.value == a.value && b.index < a.index) ? b : a;
}

}  // namespace shardplan::cuda
