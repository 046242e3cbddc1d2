// Dense products of contiguous fp32 rows, as fast as this machine does them (Eigen).
#pragma once

#include <cstdint>

namespace shardplan {

[[nodiscard]] float dot_product(const float* a, const float* b, std::int64_t count);

// out[m, n] = x[m, k] w[n, k]^T; rows of x and out lie `x_stride` and `out_stride` floats apart.
struct DenseProduct {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  std::int64_t x_stride = 0;
  std::int64_t out_stride = 0;
};
void dense_product(const DenseProduct& shape, const float* x, const float* w, float* out);

}  // namespace shardplan
