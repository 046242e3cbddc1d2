// Weights, inputs and cached rows for the references, in double, by name and global indices: the same logical tensors that
// ranks cut their parts from, without a graph.
#pragma once

#include <cstdint>
#include <vector>

#include "calibrate/tensor_source.h"

namespace shardplan {

using Vector = std::vector<double>;

// A weight with `inputs` terms per output, read element by element; fp32 as ranks hold it.
class PlainWeight {
 public:
  PlainWeight(const TensorSource& source, std::uint64_t key, std::int64_t inputs) : source_(source), key_(key), inputs_(inputs) {}
  [[nodiscard]] double at(const std::vector<std::int64_t>& indices) const {
    return static_cast<double>(static_cast<float>(source_.weight(key_, indices, inputs_)));
  }
  // y_o = sum_i w[prefix..., o, i] x_i for o < outputs.
  [[nodiscard]] Vector times(std::vector<std::int64_t> prefix, std::int64_t outputs, const Vector& x) const;

 private:
  const TensorSource& source_;
  std::uint64_t key_;
  std::int64_t inputs_;
};

[[nodiscard]] Vector plain_norm(const Vector& x, const PlainWeight& weight);
// Turns the last `columns` columns by the position.
[[nodiscard]] Vector plain_rotary(Vector x, std::int64_t columns, std::int64_t position);
[[nodiscard]] double plain_silu(double x);

// Everything a reference layer is made from.
struct PlainLayer {
  const TensorSource& source;
  std::int64_t layer = 0;

  [[nodiscard]] PlainWeight weight(const char* name, Part part, std::int64_t inputs, std::int64_t ordinal = 0) const {
    return {source, source.key(name, part, ordinal, layer), inputs};
  }
  // One row of an input or a cache: `indices` then 0 .. width-1.
  [[nodiscard]] Vector row(const char* name, Part part, std::vector<std::int64_t> indices, std::int64_t width) const;
};

}  // namespace shardplan
