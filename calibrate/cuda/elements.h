// Numbers in device memory by their format, for kernels alone.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp8.h>

#include <cstdint>

#include "calibrate/cuda/launch.h"

namespace shardplan::cuda {

__device__ inline float read(const float* x, std::int64_t i) { return x[i]; }
__device__ inline float read(const __nv_bfloat16* x, std::int64_t i) { return __bfloat162float(x[i]); }

__device__ inline void write(float* x, std::int64_t i, float value) { x[i] = value; }
__device__ inline void write(__nv_bfloat16* x, std::int64_t i, float value) { x[i] = __float2bfloat16_rn(value); }
__device__ inline void write(__nv_fp8_e4m3* x, std::int64_t i, float value) {
  x[i] = __nv_fp8_e4m3(value);
}  // saturating

}  // namespace shardplan::cuda
