#include "calibrate/kernels/rotary.h"

#include <cmath>

#include "calibrate/token_id.h"

namespace shardplan {
namespace {

void turn(const float* in, std::int64_t columns, double position, float* out) {
  const std::int64_t half = columns / 2;
  for (std::int64_t i = 0; i < half; ++i) {
    const double angle = position * std::pow(kRotaryBase, -2.0 * static_cast<double>(i) / static_cast<double>(columns));
    const auto cosine = static_cast<float>(std::cos(angle));
    const auto sine = static_cast<float>(std::sin(angle));
    out[i] = in[i] * cosine - in[i + half] * sine;
    out[i + half] = in[i] * sine + in[i + half] * cosine;
  }
}

}  // namespace

void rotary(const LocalArray& x, std::int64_t columns, LocalArray& out) {
  if (x.dims == out.dims) {
    out.values = x.values;
  } else {
    const auto from = offsets_of(x.dims, out.dims, "x of rotary");
    for (std::size_t i = 0; i < from.size(); ++i) out.values[i] = x.values[from[i]];
  }
  const auto& tokens = out.ids(Dim::kTokens);
  const std::int64_t width = out.columns();
  const std::int64_t rows = out.rows();
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::int64_t token = tokens[row * static_cast<std::int64_t>(tokens.size()) / rows];
    const std::int64_t start = (row + 1) * width - columns;
    const std::vector<float> before(out.values.begin() + start, out.values.begin() + start + columns);
    turn(before.data(), columns, static_cast<double>(position_of(token)), out.values.data() + start);
  }
}

}  // namespace shardplan
