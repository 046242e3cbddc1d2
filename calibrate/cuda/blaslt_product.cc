#include "calibrate/cuda/blaslt_product.h"

#include <cmath>
#include <limits>

namespace shardplan::cuda {
namespace {

constexpr int kMostAlgorithms = 24;
constexpr int kTries = 5;

cudaDataType_t type_of(ProductFormat format) {
  switch (format) {
    case ProductFormat::kFp32: return CUDA_R_32F;
    case ProductFormat::kBf16: return CUDA_R_16BF;
    case ProductFormat::kFp8: return CUDA_R_8F_E4M3;
  }
  return CUDA_R_32F;
}

// One matrix behind the other.
void set_batch(cublasLtMatrixLayout_t layout, std::int64_t batch, std::int64_t stride) {
  const auto count = static_cast<std::int32_t>(batch);
  check(cublasLtMatrixLayoutSetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof count), "batch");
  check(cublasLtMatrixLayoutSetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride, sizeof stride), "batch");
}

int attribute(const cublasLtMatmulAlgo_t& algorithm, cublasLtMatmulAlgoConfigAttributes_t name) {
  int value = -1;
  std::size_t written = 0;
  cublasLtMatmulAlgoConfigGetAttribute(&algorithm, name, &value, sizeof value, &written);
  return value;
}

}  // namespace

// Column-major for the library: out^T (n x m) = w^T^T x^T, so its A is w (transposed) and its B is x.
BlasLtProduct::BlasLtProduct(const BlasLt& library, const ProductShapes& shapes, void* workspace)
    : shapes_(shapes), handle_(library.get()), workspace_(workspace), scale_(std::vector<float>(shapes.format == ProductFormat::kFp8 ? 1 : 0, 1.0F)) {
  const cudaDataType_t in = type_of(shapes.format);
  const cudaDataType_t out = shapes.fp32_out || shapes.format == ProductFormat::kFp32 ? CUDA_R_32F : CUDA_R_16BF;
  const auto m = static_cast<std::uint64_t>(shapes.m);
  const auto n = static_cast<std::uint64_t>(shapes.n);
  const auto k = static_cast<std::uint64_t>(shapes.k);
  check(cublasLtMatmulDescCreate(&operation_, CUBLAS_COMPUTE_32F, CUDA_R_32F), "operation");
  const cublasOperation_t transposed = CUBLAS_OP_T;
  check(cublasLtMatmulDescSetAttribute(operation_, CUBLASLT_MATMUL_DESC_TRANSA, &transposed, sizeof transposed), "operation");
  if (shapes.format == ProductFormat::kFp8) {
    const float* one = scale_.get();
    const std::int8_t fast = 1;
    check(cublasLtMatmulDescSetAttribute(operation_, CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, &one, sizeof one), "scale");
    check(cublasLtMatmulDescSetAttribute(operation_, CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, &one, sizeof one), "scale");
    check(cublasLtMatmulDescSetAttribute(operation_, CUBLASLT_MATMUL_DESC_FAST_ACCUM, &fast, sizeof fast), "accumulation");
  }
  check(cublasLtMatrixLayoutCreate(&w_layout_, in, k, n, shapes.k), "layout");
  check(cublasLtMatrixLayoutCreate(&x_layout_, in, k, m, shapes.k), "layout");
  check(cublasLtMatrixLayoutCreate(&out_layout_, out, n, m, shapes.n), "layout");
  if (shapes.batch > 1) {
    set_batch(w_layout_, shapes.batch, shapes.n * shapes.k);
    set_batch(x_layout_, shapes.batch, shapes.m * shapes.k);
    set_batch(out_layout_, shapes.batch, shapes.m * shapes.n);
  }
  cublasLtMatmulPreference_t preference = nullptr;
  check(cublasLtMatmulPreferenceCreate(&preference), "preference");
  const std::size_t bytes = kWorkspace;
  check(cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &bytes, sizeof bytes), "preference");
  for (const auto matrix : {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES,
                            CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES}) {
    check(cublasLtMatmulPreferenceSetAttribute(preference, matrix, &shapes.alignment, sizeof shapes.alignment), "preference");
  }
  algorithms_.resize(kMostAlgorithms);
  int found = 0;
  const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(handle_, operation_, w_layout_, x_layout_, out_layout_, out_layout_, preference,
                                                               kMostAlgorithms, algorithms_.data(), &found);
  cublasLtMatmulPreferenceDestroy(preference);
  if (status != CUBLAS_STATUS_NOT_SUPPORTED) check(status, "algorithms for the shape");
  algorithms_.resize(status == CUBLAS_STATUS_SUCCESS ? static_cast<std::size_t>(found) : 0);
}

BlasLtProduct::~BlasLtProduct() {
  cublasLtMatrixLayoutDestroy(out_layout_);
  cublasLtMatrixLayoutDestroy(x_layout_);
  cublasLtMatrixLayoutDestroy(w_layout_);
  cublasLtMatmulDescDestroy(operation_);
}

cublasStatus_t BlasLtProduct::tried(std::size_t algorithm, const void* x, const void* w, void* out, cudaStream_t stream) const {
  const float one = 1.0F;
  const float zero = 0.0F;
  return cublasLtMatmul(handle_, operation_, &one, w, w_layout_, x, x_layout_, &zero, out, out_layout_, out, out_layout_, &algorithms_[algorithm].algo,
                        workspace_, kWorkspace, stream);
}

void BlasLtProduct::run(const void* x, const void* w, void* out, cudaStream_t stream) const {
  ensure(is_served(), "a product that no algorithm serves");
  check(tried(best_, x, w, out, stream), "product");
}

void BlasLtProduct::choose(const void* x, const void* w, void* out, cudaStream_t stream) {
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < algorithms_.size(); ++i) {
    if (tried(i, x, w, out, stream) != CUBLAS_STATUS_SUCCESS) continue;
    Event start;
    Event end;
    start.record(stream);
    for (int t = 0; t < kTries; ++t) check(tried(i, x, w, out, stream), "product");
    end.record(stream);
    const double seconds = end.seconds_since(start);
    if (seconds >= least) continue;
    least = seconds;
    best_ = i;
  }
  if (!std::isfinite(least)) algorithms_.clear();
  if (!is_served()) return;
  const cublasLtMatmulAlgo_t& best = algorithms_[best_].algo;
  choice_ = "algorithm " + std::to_string(attribute(best, CUBLASLT_ALGO_CONFIG_ID)) + " tile " + std::to_string(attribute(best, CUBLASLT_ALGO_CONFIG_TILE_ID)) +
            " stages " + std::to_string(attribute(best, CUBLASLT_ALGO_CONFIG_STAGES_ID)) + " split-k " +
            std::to_string(attribute(best, CUBLASLT_ALGO_CONFIG_SPLITK_NUM)) + ", " + std::to_string(best_ + 1) + " of " + std::to_string(algorithms_.size()) + " tried";
}

}  // namespace shardplan::cuda
