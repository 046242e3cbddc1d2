#include "calibrate/kernels/product.h"

#include <Eigen/Core>

namespace shardplan {
namespace {

using RowMajor = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Strided = Eigen::OuterStride<Eigen::Dynamic>;

}  // namespace

float dot_product(const float* a, const float* b, std::int64_t count) {
  return Eigen::Map<const Eigen::VectorXf>(a, count).dot(Eigen::Map<const Eigen::VectorXf>(b, count));
}

void dense_product(const DenseProduct& shape, const float* x, const float* w, float* out) {
  const Eigen::Map<const RowMajor, 0, Strided> xs(x, shape.m, shape.k, Strided(shape.x_stride));
  const Eigen::Map<const RowMajor> ws(w, shape.n, shape.k);
  Eigen::Map<RowMajor, 0, Strided> outs(out, shape.m, shape.n, Strided(shape.out_stride));
  if (shape.m == 1) {   // a matrix times a vector, which reads each weight once
    outs.row(0).transpose().noalias() = ws * xs.row(0).transpose();
    return;
  }
  outs.noalias() = xs * ws.transpose();
}

}  // namespace shardplan
