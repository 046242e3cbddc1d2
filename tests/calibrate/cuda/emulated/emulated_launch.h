// Kernels on the host, thread by thread: every thread of a block is a coroutine that runs until it waits for others.
// One block at a time, so shared memory is static; what a launch asks for is filled with NaN. Barriers that not all
// threads reach, and warps whose lanes wait for lanes that have left, are errors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>

#include "cuda_runtime.h"

namespace emulated {

struct Place {
  unsigned x = 0, y = 0, z = 0;
};
Place thread_place();
Place block_place();
Place block_size();
Place grid_size();

void run_blocks(dim3 grid, dim3 block, std::size_t shared_bytes, const std::function<void()>& thread);
void* launch_shared();

void wait_for_block();
int count_in_block(bool flag);
// What `from` of this warp brought.
std::uint64_t exchanged(std::uint64_t own, int from);
std::uint32_t ballot(bool flag);
int lane();

template <class T>
T shuffled(T value, int from) {
  static_assert(sizeof(T) <= sizeof(std::uint64_t));
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  bits = exchanged(bits, from);
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

}  // namespace emulated

#define __global__
#define __device__
#define __shared__ static
#define threadIdx (emulated::thread_place())
#define blockIdx (emulated::block_place())
#define blockDim (emulated::block_size())
#define gridDim (emulated::grid_size())
#define SHARDPLAN_LAUNCH_SHARED(type, name) type* name = static_cast<type*>(emulated::launch_shared())

inline void __syncthreads() { emulated::wait_for_block(); }
inline int __syncthreads_count(int flag) { return emulated::count_in_block(flag != 0); }
inline std::uint32_t __ballot_sync(unsigned, int flag) { return emulated::ballot(flag != 0); }
template <class T>
T __shfl_xor_sync(unsigned, T value, int step) {
  return emulated::shuffled(value, emulated::lane() ^ step);
}
template <class T>
T __shfl_sync(unsigned, T value, int from) {
  return emulated::shuffled(value, from);
}
inline void atomicAdd(float* to, float amount) { *to += amount; }
inline float rsqrtf(float x) { return 1.0F / sqrtf(x); }

namespace shardplan::cuda {

template <class... P, class... A>
void start(void (*kernel)(P...), dim3 grid, dim3 block, std::size_t shared_bytes, cudaStream_t, A... arguments) {
  emulated::run_blocks(grid, block, shared_bytes, [&] { kernel(static_cast<P>(arguments)...); });
}

}  // namespace shardplan::cuda
