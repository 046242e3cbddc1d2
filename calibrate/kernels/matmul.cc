#include "calibrate/kernels/matmul.h"

#include <algorithm>

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

// Whether the dimensions are those of `outer`, then those of `inner`, held alike.
bool is_joined(const LocalDims& dims, const LocalDims& outer, const LocalDims& inner) {
  return dims.size() == outer.size() + inner.size() && std::equal(outer.begin(), outer.end(), dims.begin()) &&
         std::equal(inner.begin(), inner.end(), dims.begin() + static_cast<std::ptrdiff_t>(outer.size()));
}

bool counts_up(const std::vector<std::int64_t>& offsets, std::int64_t step) {
  for (std::size_t i = 0; i < offsets.size(); ++i) {
    if (offsets[i] != static_cast<std::int64_t>(i) * step) return false;
  }
  return true;
}

}  // namespace

std::optional<DenseProduct> dense_shape(const LocalArray& x, const LocalArray& w, const LocalArray& out) {
  const LocalDims inner = contracted(x, w, out);
  std::size_t rows = 0;
  while (rows < out.dims.size() && x.has(out.dims[rows].dim) && !w.has(out.dims[rows].dim)) ++rows;
  const LocalDims left(out.dims.begin(), out.dims.begin() + static_cast<std::ptrdiff_t>(rows));
  const LocalDims right(out.dims.begin() + static_cast<std::ptrdiff_t>(rows), out.dims.end());
  for (const LocalDim& d : right) {
    if (x.has(d.dim) || !w.has(d.dim)) return std::nullopt;
  }
  const DenseProduct shape{element_count(left), element_count(right), element_count(inner), element_count(inner), element_count(right)};
  if (shape.m * shape.n * shape.k == 0 || w.elements() != shape.n * shape.k || x.elements() != shape.m * shape.k) return std::nullopt;
  if (is_joined(x.dims, left, inner) && is_joined(w.dims, right, inner)) return shape;
  const bool in_order = counts_up(offsets_of(x.dims, inner, "x of product"), 1) && counts_up(offsets_of(w.dims, inner, "weight of product"), 1) &&
                        counts_up(offsets_of(x.dims, left, "x of product"), shape.k) &&
                        counts_up(offsets_of(w.dims, right, "weight of product"), shape.k);
  return in_order ? std::optional(shape) : std::nullopt;
}

void matmul(const LocalArray& x, const LocalArray& w, std::int64_t carry, LocalArray& out) {
  const auto dense = carry == 0 ? dense_shape(x, w, out) : std::nullopt;
  if (dense) return dense_product(*dense, x.values.data(), w.values.data(), out.values.data());
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
