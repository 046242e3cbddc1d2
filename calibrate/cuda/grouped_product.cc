#include "calibrate/cuda/grouped_product.h"

#include "calibrate/cuda/index_logic.h"

namespace shardplan::cuda {
namespace {

constexpr std::int64_t kBf16Bytes = 2;

template <class Pointer>
std::vector<Pointer> pointers(char* base, const std::vector<std::int64_t>& elements) {
  std::vector<Pointer> result;
  for (const std::int64_t at : elements) result.push_back(base + at * kBf16Bytes);
  return result;
}

}  // namespace

BlasHandle::BlasHandle(cudaStream_t stream) {
  check(cublasCreate(&handle_), "handle");
  check(cublasSetStream(handle_, stream), "stream");
  check(cublasSetWorkspace(handle_, workspace_.get(), static_cast<std::size_t>(kWorkspace)),
        "workspace");  // after the stream, which resets it
}

// Column-major for the library: out^T (n x rows) = w (n x k, transposed from k x n) x^T (k x rows).
GroupedProduct::GroupedProduct(const BlasHandle& library, const std::vector<std::int64_t>& rows, std::int64_t n,
                               std::int64_t k, const Buffer<char>& x, const Buffer<char>& weights,
                               const Buffer<char>& out)
    : handle_(library.get()),
      weight_pointers_(pointers<const void*>(weights.get(), group_offsets(rows, n * k, true))),
      x_pointers_(pointers<const void*>(x.get(), group_offsets(rows, k, false))),
      out_pointers_(pointers<void*>(out.get(), group_offsets(rows, n, false))) {
  for (const std::int64_t count : rows) {
    if (count == 0) continue;
    m_.push_back(static_cast<int>(n));
    n_.push_back(static_cast<int>(count));
    k_.push_back(static_cast<int>(k));
  }
  sizes_.assign(m_.size(), 1);
  transposed_.assign(m_.size(), CUBLAS_OP_T);
  plain_.assign(m_.size(), CUBLAS_OP_N);
  ones_.assign(m_.size(), 1.0F);
  zeros_.assign(m_.size(), 0.0F);
}

void GroupedProduct::run() const {
  check(cublasGemmGroupedBatchedEx(handle_, transposed_.data(), plain_.data(), m_.data(), n_.data(), k_.data(),
                                   ones_.data(), weight_pointers_.get(), CUDA_R_16BF, k_.data(), x_pointers_.get(),
                                   CUDA_R_16BF, k_.data(), zeros_.data(), out_pointers_.get(), CUDA_R_16BF, m_.data(),
                                   static_cast<int>(m_.size()), sizes_.data(), CUBLAS_COMPUTE_32F),
        "grouped product");
}

}  // namespace shardplan::cuda
