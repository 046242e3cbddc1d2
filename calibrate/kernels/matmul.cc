#include "calibrate/kernels/matmul.h"

#include "base/errors.h"

namespace shardplan {
namespace {

// Every contracted index of w must be in x; a sharded dimension must be cut alike on both.
LocalDims contracted(const LocalArray& x, const LocalArray& w, const LocalArray& out) {
  LocalDims dims;
  for (const LocalDim& d : w.dims) {
    if (x.has(d.dim) && !out.has(d.dim)) dims.push_back(d);
    const bool last_of_x = x.dims.back().dim == d.dim;  // may be wider: carried columns
    if (!out.has(d.dim) && !last_of_x) ensure(x.ids(d.dim) == d.ids, "contracted dimension is cut differently in x and weight");
  }
  return dims;
}

// The output's columns: what the product fills, then what is carried.
struct Columns {
  LocalDims product;
  LocalDims carried;
};

Columns split_columns(const LocalArray& out, std::int64_t carry) {
  Columns columns{out.dims, out.dims};
  auto& all = columns.product.back().ids;
  auto& tail = columns.carried.back().ids;
  const auto count = static_cast<std::int64_t>(all.size()) - carry;
  tail.erase(tail.begin(), tail.begin() + count);
  all.resize(static_cast<std::size_t>(count));
  return columns;
}

void copy_carried(const LocalArray& x, std::int64_t carry, const LocalDims& dims, LocalArray& out) {
  LocalDims source = dims;   // the same rows, but x's own trailing columns
  source.back().dim = x.dims.back().dim;
  const auto& ids = x.dims.back().ids;
  source.back().ids.assign(ids.end() - carry, ids.end());
  const auto from = offsets_of(x.dims, source, "carried columns");
  const auto to = offsets_of(out.dims, dims, "carried columns");
  for (std::size_t i = 0; i < to.size(); ++i) out.values[to[i]] = x.values[from[i]];
}

}  // namespace

void matmul(const LocalArray& x, const LocalArray& w, std::int64_t carry, LocalArray& out) {
  const LocalDims inner = contracted(x, w, out);
  const Columns columns = split_columns(out, carry);
  const auto out_at = offsets_of(out.dims, columns.product, "product");
  const auto x_row = offsets_of(x.dims, columns.product, "x of product");
  const auto w_row = offsets_of(w.dims, columns.product, "weight of product");
  const auto x_inner = offsets_of(x.dims, inner, "x of product");
  const auto w_inner = offsets_of(w.dims, inner, "weight of product");
  for (std::size_t o = 0; o < out_at.size(); ++o) {
    const float* xs = x.values.data() + x_row[o];
    const float* ws = w.values.data() + w_row[o];
    float sum = 0.0F;
    for (std::size_t c = 0; c < x_inner.size(); ++c) sum += xs[x_inner[c]] * ws[w_inner[c]];
    out.values[out_at[o]] = sum;
  }
  if (carry > 0) copy_carried(x, carry, columns.carried, out);
}

}  // namespace shardplan
