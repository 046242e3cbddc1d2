// One product on cuBLASLt: out[m, n] = x[m, k] w[n, k]^T, or `batch` of them one behind the other, both operands with k innermost (the layout that fp8 needs).
//
// All algorithms that the heuristic returns are tried on the real operands and the fastest is kept; what it was is recorded.
#pragma once

#include <cstdint>
#include <string>

#include "calibrate/cuda/memory.h"

namespace shardplan::cuda {

enum class ProductFormat : std::uint8_t { kFp32, kBf16, kFp8 };   // of x and w; out is fp32 (fp32) or bf16

struct ProductShapes {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  ProductFormat format = ProductFormat::kBf16;
  bool fp32_out = false;
  std::int64_t batch = 1;
  std::uint32_t alignment = 256;   // bytes, of every matrix
};

// The library on the current device. To end it waits for all that the device has to do: it outlives its products.
class BlasLt {
 public:
  BlasLt() { check(cublasLtCreate(&handle_), "handle"); }
  ~BlasLt() { cublasLtDestroy(handle_); }
  BlasLt(const BlasLt&) = delete;
  BlasLt& operator=(const BlasLt&) = delete;
  [[nodiscard]] cublasLtHandle_t get() const { return handle_; }

 private:
  cublasLtHandle_t handle_ = nullptr;
};

class BlasLtProduct {
 public:
  static constexpr std::size_t kWorkspace = 32U << 20U;   // bytes

  // `workspace` is the caller's.
  BlasLtProduct(const BlasLt& library, const ProductShapes& shapes, void* workspace);
  ~BlasLtProduct();
  BlasLtProduct(const BlasLtProduct&) = delete;
  BlasLtProduct& operator=(const BlasLtProduct&) = delete;

  // Whether an algorithm serves the shape (fp8 needs n and k to be multiples of 16, and sm_89 or newer); else nothing may be run.
  [[nodiscard]] bool is_served() const { return !algorithms_.empty(); }
  // Times every algorithm a few times and keeps the fastest; those that refuse the operands are passed over.
  void choose(const void* x, const void* w, void* out, cudaStream_t stream);
  void run(const void* x, const void* w, void* out, cudaStream_t stream) const;
  [[nodiscard]] const std::string& choice() const { return choice_; }   // "algorithm 67 tile 20 stages 36 split-k 1 of 8 tried"

 private:
  [[nodiscard]] cublasStatus_t tried(std::size_t algorithm, const void* x, const void* w, void* out, cudaStream_t stream) const;

  ProductShapes shapes_;
  cublasLtHandle_t handle_;
  void* workspace_;
  cublasLtMatmulDesc_t operation_ = nullptr;
  cublasLtMatrixLayout_t w_layout_ = nullptr;
  cublasLtMatrixLayout_t x_layout_ = nullptr;
  cublasLtMatrixLayout_t out_layout_ = nullptr;
  Buffer<float> scale_;                         // 1, of fp8 operands; else empty
  std::vector<cublasLtMatmulHeuristicResult_t> algorithms_;
  std::size_t best_ = 0;
  std::string choice_;
};

}  // namespace shardplan::cuda
