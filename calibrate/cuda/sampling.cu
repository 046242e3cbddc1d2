// Tokens from logits: a block for each row.
#include "calibrate/cuda/check.h"
#include "calibrate/cuda/launch.h"
#include "calibrate/cuda/launchers.h"
#include "calibrate/cuda/sampling.h"

namespace shardplan::cuda {
namespace {

constexpr int kThreads = 1024;
constexpr int kWarp = 32;
constexpr int kWarps = kThreads / kWarp;

// The block's threads as a team of sampling.h.
class Block {
 public:
  __device__ Block(float* bins, Entry* entries) : bins_(bins), entries_(entries) {}
  __device__ std::int64_t index() const { return threadIdx.x; }
  __device__ std::int64_t size() const { return kThreads; }

  __device__ Entry larger(Entry own) {
    for (int step = kWarp / 2; step > 0; step /= 2) {
      const float value = __shfl_xor_sync(0xFFFFFFFFU, own.value, step);
      const long long index = __shfl_xor_sync(0xFFFFFFFFU, static_cast<long long>(own.index), step);
      own = cuda::larger(own, {value, index});
    }
    const Entry all = reduced(own, [](Entry a, Entry b) { return cuda::larger(a, b); });
    return all;
  }

  __device__ float sum(float own) {
    for (int step = kWarp / 2; step > 0; step /= 2) own += __shfl_xor_sync(0xFFFFFFFFU, own, step);
    return reduced({own, 0}, [](Entry a, Entry b) { return Entry{a.value + b.value, 0}; }).value;
  }

  __device__ void clear_bins() {
    __syncthreads();  // the round before has been read
    if (threadIdx.x < kBins) bins_[threadIdx.x] = 0;
    __syncthreads();
  }
  __device__ void add_to_bin(int bin, float amount) { atomicAdd(bins_ + bin, amount); }
  __device__ const float* full_bins() {
    __syncthreads();
    return bins_;
  }

 private:
  // Of one entry for each warp, the same in every thread.
  template <class Join>
  __device__ Entry reduced(Entry of_warp, Join join) {
    __syncthreads();  // what is there has been read
    if (threadIdx.x % kWarp == 0) entries_[threadIdx.x / kWarp] = of_warp;
    __syncthreads();
    Entry all = entries_[0];
    for (int warp = 1; warp < kWarps; ++warp) all = join(all, entries_[warp]);
    return all;
  }

  float* bins_;
  Entry* entries_;
};

__global__ void argmax(const float* logits, std::int32_t* tokens, std::int64_t count) {
  __shared__ Entry entries[kWarps];
  Block team(nullptr, entries);
  const Entry best = likeliest(team, logits + static_cast<std::int64_t>(blockIdx.x) * count, count);
  if (threadIdx.x == 0) tokens[blockIdx.x] = static_cast<std::int32_t>(best.index);
}

__global__ void draw(const float* logits, std::int32_t* tokens, std::int64_t count, SamplerSettings settings) {
  __shared__ float bins[kBins];
  __shared__ Entry entries[kWarps];
  Block team(bins, entries);
  const std::int64_t token =
      drawn(team, logits + static_cast<std::int64_t>(blockIdx.x) * count, count, settings, blockIdx.x);
  if (threadIdx.x == 0) tokens[blockIdx.x] = static_cast<std::int32_t>(token);
}

}  // namespace

void launch_argmax(const float* logits, std::int32_t* tokens, std::int64_t rows, std::int64_t count, Stream stream) {
  if (rows == 0) return;
  start(argmax, static_cast<unsigned>(rows), kThreads, 0, stream, logits, tokens, count);
  check(cudaGetLastError(), "likeliest token");
}

void launch_draw(const float* logits, std::int32_t* tokens, std::int64_t rows, std::int64_t count,
                 const SamplerSettings& settings, Stream stream) {
  if (rows == 0) return;
  start(draw, static_cast<unsigned>(rows), kThreads, 0, stream, logits, tokens, count, settings);
  check(cudaGetLastError(), "drawn token");
}

}  // namespace shardplan::cuda
