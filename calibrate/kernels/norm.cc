#include "calibrate/kernels/norm.h"

#include <cmath>

#include "base/errors.h"

namespace shardplan {

void rms_norm(const LocalArray& x, const LocalArray& weight, std::int64_t carry, LocalArray& out) {
  ensure(weight.columns() == x.columns() - carry, "norm needs its dimension whole");
  const auto from = offsets_of(x.dims, row_dims(out.dims), "x of norm");
  const std::int64_t columns = x.columns();
  const std::int64_t normed = columns - carry;
  for (std::size_t row = 0; row < from.size(); ++row) {
    const float* in = x.values.data() + from[row];
    float* to = out.values.data() + static_cast<std::int64_t>(row) * columns;
    float sum = 0.0F;
    for (std::int64_t c = 0; c < normed; ++c) sum += in[c] * in[c];
    const float scale = 1.0F / std::sqrt(sum / static_cast<float>(normed) + static_cast<float>(kNormEpsilon));
    for (std::int64_t c = 0; c < columns; ++c) to[c] = c < normed ? in[c] * scale * weight.values[c] : in[c];
  }
}

}  // namespace shardplan
