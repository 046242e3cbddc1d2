// Every call of CUDA, cuBLAS and NCCL goes through these: what failed, where, and the library's own words.
#pragma once

#include <cublasLt.h>
#include <cuda_runtime.h>
#include <nccl.h>

#include <string>

#include "base/errors.h"

namespace shardplan::cuda {

inline void check(cudaError_t status, const char* what) {
  if (status != cudaSuccess) throw EnvironmentError(std::string("CUDA: ") + what + ": " + cudaGetErrorString(status));
}
inline void check(cublasStatus_t status, const char* what) {
  if (status != CUBLAS_STATUS_SUCCESS) throw EnvironmentError(std::string("cuBLASLt: ") + what + ": " + cublasLtGetStatusString(status));
}
inline void check(ncclResult_t status, const char* what) {
  if (status != ncclSuccess) throw EnvironmentError(std::string("NCCL: ") + what + ": " + ncclGetErrorString(status));
}

}  // namespace shardplan::cuda
