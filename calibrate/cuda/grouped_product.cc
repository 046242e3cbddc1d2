#include "calibrate/cuda/grouped_product.h"

namespace shardplan::cuda {
namespace {

constexpr std::int64_t kBf16Bytes = 2;

std::size_t filled(const std::vector<std::int64_t>& rows) {
  std::size_t count = 0;
  while (count < rows.size() && rows[count] > 0) ++count;
  return count;
}

// Where each expert's matrix begins: `step(e)` elements behind the one before.
template <class Pointer, class Step>
std::vector<Pointer> begins(char* base, std::size_t count, Step step) {
  std::vector<Pointer> result;
  for (std::size_t e = 0; e < count; ++e) {
    result.push_back(base);
    base += step(e) * kBf16Bytes;
  }
  return result;
}

}  // namespace

// Column-major for the library: out^T (n x rows) = w (n x k, transposed from k x n) x^T (k x rows).
GroupedProduct::GroupedProduct(const std::vector<std::int64_t>& rows, std::int64_t n, std::int64_t k,
                               const Buffer<char>& x, const Buffer<char>& weights, const Buffer<char>& out)
    : weight_pointers_(begins<const void*>(weights.get(), filled(rows), [&](std::size_t) { return n * k; })),
      x_pointers_(begins<const void*>(x.get(), filled(rows), [&](std::size_t e) { return rows[e] * k; })),
      out_pointers_(begins<void*>(out.get(), filled(rows), [&](std::size_t e) { return rows[e] * n; })) {
  check(cublasCreate(&handle_), "handle");
  for (std::size_t e = 0; e < filled(rows); ++e) {
    m_.push_back(static_cast<int>(n));
    n_.push_back(static_cast<int>(rows[e]));
    k_.push_back(static_cast<int>(k));
  }
  sizes_.assign(m_.size(), 1);
  transposed_.assign(m_.size(), CUBLAS_OP_T);
  plain_.assign(m_.size(), CUBLAS_OP_N);
  ones_.assign(m_.size(), 1.0F);
  zeros_.assign(m_.size(), 0.0F);
}

GroupedProduct::~GroupedProduct() { cublasDestroy(handle_); }

void GroupedProduct::run(cudaStream_t stream) const {
  check(cublasSetStream(handle_, stream), "stream");
  check(cublasGemmGroupedBatchedEx(handle_, transposed_.data(), plain_.data(), m_.data(), n_.data(), k_.data(),
                                   ones_.data(), weight_pointers_.get(), CUDA_R_16BF, k_.data(), x_pointers_.get(),
                                   CUDA_R_16BF, k_.data(), zeros_.data(), out_pointers_.get(), CUDA_R_16BF, m_.data(),
                                   static_cast<int>(m_.size()), sizes_.data(), CUBLAS_COMPUTE_32F),
        "grouped product");
}

}  // namespace shardplan::cuda
