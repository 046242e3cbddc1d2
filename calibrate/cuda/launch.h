// How kernels start, and the shared memory whose size a launch gives: the two words of CUDA that no other compiler takes. Elsewhere the
// tests' emulation of a device says what they mean.
#pragma once

#ifdef __CUDACC__

#include <cuda_runtime.h>

namespace shardplan::cuda {

template <class... P, class... A>
void start(void (*kernel)(P...), dim3 grid, dim3 block, std::size_t shared_bytes, cudaStream_t stream, A... arguments) {
  kernel<<<grid, block, shared_bytes, stream>>>(static_cast<P>(arguments)...);
}

}  // namespace shardplan::cuda

#define SHARDPLAN_LAUNCH_SHARED(type, name) extern __shared__ type name[]

#else
#include <emulated_launch.h>
#endif
