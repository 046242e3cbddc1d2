#include "calibrate/kernels/elementwise.h"

#include <cmath>

#include "base/errors.h"

namespace shardplan {
namespace {

// Copies all of `x` to where `out` holds the same indices.
void place(const LocalArray& x, LocalArray& out) {
  const auto to = offsets_of(out.dims, x.dims, "part of join");
  for (std::size_t i = 0; i < to.size(); ++i) out.values[to[i]] = x.values[i];
}

}  // namespace

float silu(float x) { return x / (1.0F + std::exp(-x)); }

float sigmoid(float x) { return 1.0F / (1.0F + std::exp(-x)); }

float apply(ElementFunction function, float x) {
  switch (function) {
    case ElementFunction::kSilu: return silu(x);
    case ElementFunction::kSigmoid: return sigmoid(x);
    case ElementFunction::kRelu2: return x > 0.0F ? x * x : 0.0F;
  }
  return x;
}

void activate(const std::vector<const LocalArray*>& inputs, ElementFunction function, LocalArray& out) {
  const LocalArray& first = *inputs.front();
  const LocalArray& last = *inputs.back();
  if (first.dims == out.dims && last.dims == out.dims) {
    for (std::size_t i = 0; i < out.values.size(); ++i) {
      out.values[i] = apply(function, first.values[i]) * (inputs.size() > 1 ? last.values[i] : 1.0F);
    }
    return;
  }
  const auto at_first = offsets_of(first.dims, out.dims, "gate");
  const auto at_last = offsets_of(last.dims, out.dims, "up");
  for (std::size_t i = 0; i < out.values.size(); ++i) {
    const float factor = inputs.size() > 1 ? last.values[at_last[i]] : 1.0F;
    out.values[i] = apply(function, first.values[at_first[i]]) * factor;
  }
}

void add(const LocalArray& a, const LocalArray& b, LocalArray& out) {
  if (a.dims == out.dims && b.dims == out.dims) {
    for (std::size_t i = 0; i < out.values.size(); ++i) out.values[i] = a.values[i] + b.values[i];
    return;
  }
  const auto at_a = offsets_of(a.dims, out.dims, "first term");
  const auto at_b = offsets_of(b.dims, out.dims, "second term");
  for (std::size_t i = 0; i < out.values.size(); ++i) out.values[i] = a.values[at_a[i]] + b.values[at_b[i]];
}

void concat(const std::vector<const LocalArray*>& parts, LocalArray& out) {
  std::int64_t column = 0;
  for (const LocalArray* part : parts) {
    ensure(part->dims.front() == out.dims.front(), "a part of a concatenation has other rows");
    for (std::int64_t row = 0; row < part->rows(); ++row) {
      for (std::int64_t i = 0; i < part->columns(); ++i) out.values[row * out.columns() + column + i] = part->values[row * part->columns() + i];
    }
    column += part->columns();
  }
  ensure(column == out.columns(), "the parts of a concatenation are not whole");
}

void select(const LocalArray& x, LocalArray& out) {
  if (x.dims == out.dims && x.width == out.width) {
    out.values = x.values;
    if (!out.lse.empty()) out.lse = x.lse;
    return;
  }
  const auto at = offsets_of(x.dims, out.dims, "selection");
  for (std::size_t i = 0; i < at.size(); ++i) {
    for (int w = 0; w < out.width; ++w) out.values[i * out.width + w] = x.values[at[i] * x.width + w];
  }
  if (out.lse.empty()) return;
  const auto rows = offsets_of(row_dims(x.dims), row_dims(out.dims), "selection");
  for (std::size_t i = 0; i < rows.size(); ++i) out.lse[i] = x.lse[rows[i]];
}

void join(const LocalArray& a, const LocalArray& b, LocalArray& out) {
  place(a, out);
  place(b, out);
}

}  // namespace shardplan
