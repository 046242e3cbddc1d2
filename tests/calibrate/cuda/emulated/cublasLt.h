// One algorithm of cuBLASLt's products: column-major, the first operand transposed or not, sums in fp32.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cuda_bf16.h"
#include "cuda_fp8.h"
#include "cuda_runtime.h"

enum cublasStatus_t { CUBLAS_STATUS_SUCCESS = 0, CUBLAS_STATUS_NOT_SUPPORTED = 15 };
enum cublasOperation_t { CUBLAS_OP_N, CUBLAS_OP_T };
enum cublasComputeType_t { CUBLAS_COMPUTE_32F };
inline const char* cublasLtGetStatusString(cublasStatus_t) { return "emulated"; }

struct EmulatedBlasLt {};
using cublasLtHandle_t = EmulatedBlasLt*;
struct EmulatedMatmul {
  cublasOperation_t a = CUBLAS_OP_N;
};
using cublasLtMatmulDesc_t = EmulatedMatmul*;
struct EmulatedLayout {
  cudaDataType_t type;
  std::uint64_t rows, columns;
  std::int64_t leading;
  std::int32_t batch = 1;
  std::int64_t stride = 0;
};
using cublasLtMatrixLayout_t = EmulatedLayout*;
struct EmulatedPreference {};
using cublasLtMatmulPreference_t = EmulatedPreference*;
struct cublasLtMatmulAlgo_t {
  int id = 0;
};
struct cublasLtMatmulHeuristicResult_t {
  cublasLtMatmulAlgo_t algo;
};
enum cublasLtMatmulDescAttributes_t {
  CUBLASLT_MATMUL_DESC_TRANSA,
  CUBLASLT_MATMUL_DESC_A_SCALE_POINTER,
  CUBLASLT_MATMUL_DESC_B_SCALE_POINTER,
  CUBLASLT_MATMUL_DESC_FAST_ACCUM
};
enum cublasLtMatrixLayoutAttribute_t {
  CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT,
  CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET
};
enum cublasLtMatmulPreferenceAttributes_t {
  CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
  CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES,
  CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
  CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES,
  CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES
};
enum cublasLtMatmulAlgoConfigAttributes_t {
  CUBLASLT_ALGO_CONFIG_ID,
  CUBLASLT_ALGO_CONFIG_TILE_ID,
  CUBLASLT_ALGO_CONFIG_STAGES_ID,
  CUBLASLT_ALGO_CONFIG_SPLITK_NUM
};

inline cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  *handle = new EmulatedBlasLt;
  return CUBLAS_STATUS_SUCCESS;
}
inline cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
  delete handle;
  return CUBLAS_STATUS_SUCCESS;
}
inline cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* made, cublasComputeType_t, cudaDataType_t) {
  *made = new EmulatedMatmul;
  return CUBLAS_STATUS_SUCCESS;
}
inline cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t made) {
  delete made;
  return CUBLAS_STATUS_SUCCESS;
}
inline cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t made, cublasLtMatmulDescAttributes_t name,
                                                     const void* value, std::size_t) {
  if (name == CUBLASLT_MATMUL_DESC_TRANSA) made->a = *static_cast<const cublasOperation_t*>(value);
  return CUBLAS_STATUS_SUCCESS;
}
inline cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* made, cudaDataType_t type, std::uint64_t rows,
                                                 std::uint64_t columns, std::int64_t leading) {
  *made = new EmulatedLayout{type, rows, columns, leading};
  return CUBLAS_STATUS_SUCCESS;
}
inline cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t made) {
  delete made;
  return CUBLAS_STATUS_SUCCESS;
}
inline cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t made,
                                                       cublasLtMatrixLayoutAttribute_t name, const void* value,
                                                       std::size_t) {
  if (name == CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT)
    made->batch = *static_cast<const std::int32_t*>(value);
  else
    made->stride = *static_cast<const std::int64_t*>(value);
  return CUBLAS_STATUS_SUCCESS;
}
inline cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* made) {
  *made = new EmulatedPreference;
  return CUBLAS_STATUS_SUCCESS;
}
inline cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t made) {
  delete made;
  return CUBLAS_STATUS_SUCCESS;
}
inline cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t,
                                                           cublasLtMatmulPreferenceAttributes_t, const void*,
                                                           std::size_t) {
  return CUBLAS_STATUS_SUCCESS;
}
inline cublasStatus_t cublasLtMatmulAlgoConfigGetAttribute(const cublasLtMatmulAlgo_t*,
                                                           cublasLtMatmulAlgoConfigAttributes_t, void*, std::size_t,
                                                           std::size_t*) {
  return CUBLAS_STATUS_SUCCESS;
}
inline cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t, cublasLtMatrixLayout_t a,
                                                     cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                                     cublasLtMatrixLayout_t, cublasLtMatmulPreference_t, int,
                                                     cublasLtMatmulHeuristicResult_t* results, int* found) {
  *found = 0;
  if (a->type != CUDA_R_32F && a->leading % 8 != 0) return CUBLAS_STATUS_NOT_SUPPORTED;
  results[0].algo.id = 1;
  *found = 1;
  return CUBLAS_STATUS_SUCCESS;
}

inline float emulated_read(const void* data, cudaDataType_t type, std::int64_t i) {
  if (type == CUDA_R_32F) return static_cast<const float*>(data)[i];
  if (type == CUDA_R_16BF) return __bfloat162float(static_cast<const __nv_bfloat16*>(data)[i]);
  return static_cast<float>(static_cast<const __nv_fp8_e4m3*>(data)[i]);
}

inline cublasStatus_t cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t operation, const void*, const void* a,
                                     cublasLtMatrixLayout_t a_layout, const void* b, cublasLtMatrixLayout_t b_layout,
                                     const void*, const void*, cublasLtMatrixLayout_t, void* d,
                                     cublasLtMatrixLayout_t d_layout, const cublasLtMatmulAlgo_t*, void*, std::size_t,
                                     cudaStream_t) {
  const bool turned = operation->a == CUBLAS_OP_T;
  const std::uint64_t inner = turned ? a_layout->rows : a_layout->columns;
  if ((turned ? a_layout->columns : a_layout->rows) != d_layout->rows || b_layout->rows != inner ||
      b_layout->columns != d_layout->columns)
    return CUBLAS_STATUS_NOT_SUPPORTED;
  for (std::int64_t batch = 0; batch < d_layout->batch; ++batch) {
    for (std::uint64_t column = 0; column < d_layout->columns; ++column) {
      for (std::uint64_t row = 0; row < d_layout->rows; ++row) {
        float sum = 0;
        for (std::uint64_t k = 0; k < inner; ++k) {
          const std::uint64_t at = turned ? row * static_cast<std::uint64_t>(a_layout->leading) + k
                                          : k * static_cast<std::uint64_t>(a_layout->leading) + row;
          sum +=
              emulated_read(a, a_layout->type, batch * a_layout->stride + static_cast<std::int64_t>(at)) *
              emulated_read(b, b_layout->type,
                            batch * b_layout->stride +
                                static_cast<std::int64_t>(column * static_cast<std::uint64_t>(b_layout->leading) + k));
        }
        const std::int64_t to = batch * d_layout->stride +
                                static_cast<std::int64_t>(column * static_cast<std::uint64_t>(d_layout->leading) + row);
        if (d_layout->type == CUDA_R_32F)
          static_cast<float*>(d)[to] = sum;
        else
          static_cast<__nv_bfloat16*>(d)[to] = __float2bfloat16_rn(sum);
      }
    }
  }
  return CUBLAS_STATUS_SUCCESS;
}
