// The products of routed experts in one call: rows of expert e times its own weights, for as many experts as have rows.
//
// bf16, sums in fp32, on cuBLAS's grouped products: gate and up, then down behind the activation. Device 0.
#pragma once

#include <cublas_v2.h>

#include <cstdint>
#include <vector>

#include "calibrate/cuda/memory.h"

namespace shardplan::cuda {

// The library on one stream, with a workspace of its own: a captured graph then holds no allocations.
class BlasHandle {
 public:
  explicit BlasHandle(cudaStream_t stream);
  ~BlasHandle() { cublasDestroy(handle_); }
  BlasHandle(const BlasHandle&) = delete;
  BlasHandle& operator=(const BlasHandle&) = delete;
  [[nodiscard]] cublasHandle_t get() const { return handle_; }

 private:
  static constexpr std::int64_t kWorkspace = 64 << 20;  // bytes
  Buffer<char> workspace_{kWorkspace};
  cublasHandle_t handle_ = nullptr;
};

// One group for each expert with rows: out[rows, n] = x[rows, k] w[n, k]^T.
class GroupedProduct {
 public:
  // `rows` of each expert, who may have none. Rows lie one behind the other in `x` and `out`, experts' matrices in
  // `weights`. The library reads the shapes when a graph runs: the object outlives it.
  GroupedProduct(const BlasHandle& library, const std::vector<std::int64_t>& rows, std::int64_t n, std::int64_t k,
                 const Buffer<char>& x, const Buffer<char>& weights, const Buffer<char>& out);
  GroupedProduct(const GroupedProduct&) = delete;
  GroupedProduct& operator=(const GroupedProduct&) = delete;
  void run() const;

 private:
  cublasHandle_t handle_;
  std::vector<int> m_, n_, k_, sizes_;
  std::vector<cublasOperation_t> transposed_, plain_;
  std::vector<float> ones_, zeros_;
  Buffer<const void*> weight_pointers_;
  Buffer<const void*> x_pointers_;
  Buffer<void*> out_pointers_;
};

}  // namespace shardplan::cuda
