// RMSNorm over the last dimension: x * w / sqrt(mean(x^2) + 1e-6); `carry` trailing columns are copied.
#pragma once

#include "calibrate/local_array.h"

namespace shardplan {

inline constexpr double kNormEpsilon = 1e-6;

void rms_norm(const LocalArray& x, const LocalArray& weight, std::int64_t carry, LocalArray& out);

// Adds `share` times the sum of squares of each token's row to column `column` of `out` [tokens, columns].
void add_squares(const LocalArray& x, float share, std::int64_t column, LocalArray& out);
// x * w / sqrt(squares / width + 1e-6), `width` columns of all heads on all ranks together.
void norm_by_squares(const LocalArray& x, const LocalArray& squares, std::int64_t column, std::int64_t width, const LocalArray& weight,
                     LocalArray& out);

}  // namespace shardplan
