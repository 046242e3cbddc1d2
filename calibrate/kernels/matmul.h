// Product by dimension names: dimensions of x, weight and output are batch, of x and weight alone contracted.
//
// out[o] = sum_c x[o, c] * w[o, c] over the global indices that the weight holds; then `carry` trailing columns of x are
// copied behind the product, broadcast over dimensions that x lacks. A sharded contraction gives a partial sum.
#pragma once

#include <optional>

#include "calibrate/kernels/product.h"
#include "calibrate/local_array.h"

namespace shardplan {

// `out` is shaped by the caller. InternalError when x or w lacks an index that out or the contraction asks for.
void matmul(const LocalArray& x, const LocalArray& w, std::int64_t carry, LocalArray& out);

// The shape when x, w and out are plain dense matrices [m, k], [n, k] and [m, n], whole and in order; nullopt when not.
[[nodiscard]] std::optional<DenseProduct> dense_shape(const LocalArray& x, const LocalArray& w, const LocalArray& out);

}  // namespace shardplan
