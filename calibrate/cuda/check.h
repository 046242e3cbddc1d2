// Every call of CUDA, cuBLAS and NCCL goes through these: what failed, where, and the library's own words.
#pragma once

#include <cublasLt.h>
#include <cuda_runtime.h>
#include <nccl.h>

#include <string>

#include "base/errors.h"

namespace shardplan::cuda {

// What was asked for does not fit: a shape that this device cannot be measured at.
class DeviceMemoryError : public EnvironmentError {
 public:
  using EnvironmentError::EnvironmentError;
};

inline void check(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  cudaGetLastError();   // it is told here, not by the next call
  const std::string told = std::string("CUDA: ") + what + ": " + cudaGetErrorString(status);
  if (status == cudaErrorMemoryAllocation) throw DeviceMemoryError(told);
  throw EnvironmentError(told);
}
inline void check(cublasStatus_t status, const char* what) {
  if (status != CUBLAS_STATUS_SUCCESS) throw EnvironmentError(std::string("cuBLASLt: ") + what + ": " + cublasLtGetStatusString(status));
}
inline void check(ncclResult_t status, const char* what) {
  if (status != ncclSuccess) throw EnvironmentError(std::string("NCCL: ") + what + ": " + ncclGetErrorString(status));
}

}  // namespace shardplan::cuda
