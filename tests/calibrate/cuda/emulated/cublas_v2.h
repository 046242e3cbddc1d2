// cuBLAS's grouped products of bf16: column-major, one matrix in each group.
#pragma once

#include "cublasLt.h"

struct EmulatedBlas {};
using cublasHandle_t = EmulatedBlas*;
inline cublasStatus_t cublasCreate(cublasHandle_t* handle) {
  *handle = new EmulatedBlas;
  return CUBLAS_STATUS_SUCCESS;
}
inline cublasStatus_t cublasDestroy(cublasHandle_t handle) {
  delete handle;
  return CUBLAS_STATUS_SUCCESS;
}
inline cublasStatus_t cublasSetStream(cublasHandle_t, cudaStream_t) { return CUBLAS_STATUS_SUCCESS; }
inline cublasStatus_t cublasSetWorkspace(cublasHandle_t, void*, std::size_t) { return CUBLAS_STATUS_SUCCESS; }

inline cublasStatus_t cublasGemmGroupedBatchedEx(cublasHandle_t, const cublasOperation_t a_turned[],
                                                 const cublasOperation_t b_turned[], const int m[], const int n[],
                                                 const int k[], const void* alpha, const void* const a[],
                                                 cudaDataType_t a_type, const int lda[], const void* const b[],
                                                 cudaDataType_t b_type, const int ldb[], const void* beta,
                                                 void* const c[], cudaDataType_t c_type, const int ldc[], int groups,
                                                 const int sizes[], cublasComputeType_t compute) {
  for (int g = 0; g < groups; ++g) {
    const bool plain = sizes[g] == 1 && b_turned[g] == CUBLAS_OP_N && a_turned[g] == CUBLAS_OP_T &&
                       static_cast<const float*>(alpha)[g] == 1 && static_cast<const float*>(beta)[g] == 0;
    if (!plain || lda[g] < k[g] || ldb[g] < k[g] || ldc[g] < m[g]) return CUBLAS_STATUS_NOT_SUPPORTED;
    EmulatedMatmul operation{CUBLAS_OP_T};
    EmulatedLayout wide{a_type, static_cast<std::uint64_t>(k[g]), static_cast<std::uint64_t>(m[g]), lda[g]};
    EmulatedLayout rows{b_type, static_cast<std::uint64_t>(k[g]), static_cast<std::uint64_t>(n[g]), ldb[g]};
    EmulatedLayout out{c_type, static_cast<std::uint64_t>(m[g]), static_cast<std::uint64_t>(n[g]), ldc[g]};
    const cublasStatus_t status = cublasLtMatmul(nullptr, &operation, nullptr, a[g], &wide, b[g], &rows, nullptr,
                                                 nullptr, nullptr, c[g], &out, nullptr, nullptr, 0, nullptr);
    if (status != CUBLAS_STATUS_SUCCESS || compute != CUBLAS_COMPUTE_32F) return CUBLAS_STATUS_NOT_SUPPORTED;
  }
  return CUBLAS_STATUS_SUCCESS;
}
