// The products of routed experts in one call each: rows of expert e times its own weights, as many experts as have
// rows.
//
// bf16, sums in fp32, on cuBLAS's grouped products: gate and up, then down behind the activation. Device 0.
#pragma once

#include <cublas_v2.h>

#include <cstdint>
#include <vector>

#include "calibrate/cuda/memory.h"

namespace shardplan::cuda {

// One group for each expert with rows: out[rows, n] = x[rows, k] w[n, k]^T.
class GroupedProduct {
 public:
  // `rows` of each expert, those without any last or left out. Matrices lie one behind the other in `x`, `weights` and
  // `out`.
  GroupedProduct(const std::vector<std::int64_t>& rows, std::int64_t n, std::int64_t k, const Buffer<char>& x,
                 const Buffer<char>& weights, const Buffer<char>& out);
  ~GroupedProduct();
  GroupedProduct(const GroupedProduct&) = delete;
  GroupedProduct& operator=(const GroupedProduct&) = delete;
  void run(cudaStream_t stream) const;

 private:
  cublasHandle_t handle_ = nullptr;
  std::vector<int> m_, n_, k_, sizes_;
  std::vector<cublasOperation_t> transposed_, plain_;
  std::vector<float> ones_, zeros_;
  Buffer<const void*> weight_pointers_;
  Buffer<const void*> x_pointers_;
  Buffer<void*> out_pointers_;
};

}  // namespace shardplan::cuda
