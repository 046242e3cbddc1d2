// The emulated device itself: it runs blocks as a device does, and notices what would hang one.
#include "tests/calibrate/cuda/emulated/emulated_launch.h"

#include <array>
#include <cmath>
#include <stdexcept>

#include "tests/catch.h"

namespace {

// Sums of a block through shared memory, with a barrier between.
void sum_of_block(const int* in, int* out) {
  __shared__ std::array<int, 96> parts;
  parts[threadIdx.x] = in[blockIdx.x * blockDim.x + threadIdx.x];
  __syncthreads();
  if (threadIdx.x != 0) return;
  out[blockIdx.x] = 0;
  for (unsigned i = 0; i < blockDim.x; ++i) out[blockIdx.x] += parts[i];
}

void leave_before_barrier(int) {
  if (threadIdx.x == 3) return;
  __syncthreads();
}

void lose_a_lane(int) {
  if (threadIdx.x % 32 == 7) return;
  static_cast<void>(__shfl_xor_sync(0xFFFFFFFFU, 1.0F, 1));
}

void exchange(float* out) {
  SHARDPLAN_LAUNCH_SHARED(float, own);
  out[threadIdx.x] = __shfl_xor_sync(0xFFFFFFFFU, static_cast<float>(threadIdx.x), 5);
  out[64 + threadIdx.x] = static_cast<float>(__ballot_sync(0xFFFFFFFFU, threadIdx.x % 2 == 1) == 0xAAAAAAAAU);
  out[128 + threadIdx.x] = static_cast<float>(__syncthreads_count(threadIdx.x < 20));
  out[192 + threadIdx.x] = own[threadIdx.x];
}

TEST_CASE("threads of a block meet at barriers, warps exchange, and shared memory holds nothing at first") {
  std::vector<int> in(96 * 3), out(3);
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<int>(i);
  shardplan::cuda::start(sum_of_block, 3, 96, 0, nullptr, in.data(), out.data());
  CHECK(out == std::vector<int>{4560, 13776, 22992});
  std::vector<float> seen(256);
  shardplan::cuda::start(exchange, 1, 64, 64 * sizeof(float), nullptr, seen.data());
  for (std::size_t t = 0; t < 64; ++t) {
    CHECK(seen[t] == static_cast<float>(t ^ 5U));
    CHECK(seen[64 + t] == 1);
    CHECK(seen[128 + t] == 20);
    CHECK(std::isnan(seen[192 + t]));
  }
}

TEST_CASE("a barrier that not all threads reach is an error, as are lanes that wait for lost ones") {
  CHECK_THROWS_AS(shardplan::cuda::start(leave_before_barrier, 1, 64, 0, nullptr, 0), std::logic_error);
  CHECK_THROWS_AS(shardplan::cuda::start(lose_a_lane, 1, 64, 0, nullptr, 0), std::logic_error);
  CHECK_THROWS_AS(shardplan::cuda::start(leave_before_barrier, 1, 2048, 0, nullptr, 0),
                  std::logic_error);  // no such block
  std::vector<int> in(96, 1), out(1);
  shardplan::cuda::start(sum_of_block, 1, 96, 0, nullptr, in.data(),
                         out.data());  // and the device is of use afterwards
  CHECK(out[0] == 96);
}

}  // namespace
