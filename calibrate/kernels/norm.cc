#include "calibrate/kernels/norm.h"

#include <algorithm>
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

void add_squares(const LocalArray& x, float share, std::int64_t column, LocalArray& out) {
  const auto to = offsets_of(out.dims, {out.dims.front()}, "squares");
  const auto from = offsets_of(x.dims, {out.dims.front()}, "x of squares");
  const std::int64_t width = x.elements() / std::max<std::int64_t>(1, static_cast<std::int64_t>(x.dims.front().ids.size()));
  for (std::size_t t = 0; t < to.size(); ++t) {
    const float* row = x.values.data() + from[t];
    float sum = 0.0F;
    for (std::int64_t c = 0; c < width; ++c) sum += row[c] * row[c];
    out.values[to[t] + column] += share * sum;
  }
}

void norm_by_squares(const LocalArray& x, const LocalArray& squares, std::int64_t column, std::int64_t width, const LocalArray& weight,
                     LocalArray& out) {
  const auto at_x = offsets_of(x.dims, out.dims, "x of norm");
  const auto at_weight = offsets_of(weight.dims, out.dims, "weight of norm");
  const auto at_squares = offsets_of(squares.dims, {out.dims.front()}, "squares of norm");
  const std::size_t row = out.values.size() / std::max<std::size_t>(1, at_squares.size());
  for (std::size_t i = 0; i < out.values.size(); ++i) {
    const float mean = squares.values[at_squares[i / row] + column] / static_cast<float>(width);
    out.values[i] = x.values[at_x[i]] / std::sqrt(mean + static_cast<float>(kNormEpsilon)) * weight.values[at_weight[i]];
  }
}

}  // namespace shardplan
