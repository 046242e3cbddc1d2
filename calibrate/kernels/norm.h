// RMSNorm over the last dimension: x * w / sqrt(mean(x^2) + 1e-6); `carry` trailing columns are copied.
#pragma once

#include "calibrate/local_array.h"

namespace shardplan {

inline constexpr double kNormEpsilon = 1e-6;

void rms_norm(const LocalArray& x, const LocalArray& weight, std::int64_t carry, LocalArray& out);

}  // namespace shardplan
