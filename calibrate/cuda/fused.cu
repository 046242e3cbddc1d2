// Norm, rotary, activations, conversions and random data: kernels that touch each element once.
#include "calibrate/cuda/check.h"
#include "calibrate/cuda/elements.h"
#include "calibrate/cuda/launch.h"
#include "calibrate/cuda/launchers.h"

namespace shardplan::cuda {
namespace {

constexpr int kThreads = 256;

__device__ std::int64_t thread_index() { return static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; }

unsigned blocks_of(std::int64_t count) { return static_cast<unsigned>((count + kThreads - 1) / kThreads); }

__global__ void rms_norm(const float* x, float* residual, const float* weight, float* out, std::int64_t columns, float epsilon) {
  __shared__ float partial[kThreads];
  const std::int64_t start = static_cast<std::int64_t>(blockIdx.x) * columns;
  float sum = 0;
  for (std::int64_t c = threadIdx.x; c < columns; c += blockDim.x) {
    float value = x[start + c];
    if (residual != nullptr) residual[start + c] = value += residual[start + c];
    sum += value * value;
  }
  partial[threadIdx.x] = sum;
  __syncthreads();
  for (unsigned step = blockDim.x / 2; step > 0; step /= 2) {
    if (threadIdx.x < step) partial[threadIdx.x] += partial[threadIdx.x + step];
    __syncthreads();
  }
  const float scale = rsqrtf(partial[0] / static_cast<float>(columns) + epsilon);
  const float* in = residual != nullptr ? residual : x;
  for (std::int64_t c = threadIdx.x; c < columns; c += blockDim.x) out[start + c] = in[start + c] * scale * weight[c];
}

// A thread turns one pair: it writes both columns.
__global__ void rotary(float* x, const std::int64_t* positions, std::int64_t rows, std::int64_t width, std::int64_t columns) {
  const std::int64_t half = columns / 2;
  const std::int64_t i = thread_index();
  if (i >= rows * half) return;
  const std::int64_t row = i / half;
  const std::int64_t column = i % half;
  turn_pair(x + row * width + (width - columns), columns, column, positions[row]);
}

__global__ void activate(Activation function, const float* open, const float* factor, float* out, std::int64_t count) {
  const std::int64_t i = thread_index();
  if (i < count) out[i] = activated(function, open[i]) * (factor != nullptr ? factor[i] : 1.0F);
}

// Gate and up of a row lie side by side.
template <class To>
__global__ void activate_rows(Activation function, bool gated, const __nv_bfloat16* rows, To* out, std::int64_t count, std::int64_t width) {
  const std::int64_t i = thread_index();
  if (i >= count) return;
  const std::int64_t at = gated ? i / width * 2 * width + i % width : i;
  write(out, i, activated(function, read(rows, at)) * (gated ? read(rows, at + width) : 1.0F));
}

__global__ void to_bf16(const float* from, __nv_bfloat16* to, std::int64_t count) {
  const std::int64_t i = thread_index();
  if (i < count) to[i] = __float2bfloat16_rn(from[i]);
}

__global__ void to_fp8(const float* from, __nv_fp8_e4m3* to, float scale, std::int64_t count) {
  const std::int64_t i = thread_index();
  if (i < count) to[i] = __nv_fp8_e4m3(from[i] * scale);
}

__global__ void random_values(float* to, std::uint64_t seed, std::int64_t count) {
  const std::int64_t i = thread_index();
  if (i >= count) return;
  std::uint64_t x = seed + 0x9E3779B97F4A7C15ULL * static_cast<std::uint64_t>(i + 1);
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
  to[i] = static_cast<float>((x ^ (x >> 31)) >> 40) / 8388608.0F - 1.0F;
}

}  // namespace

void launch_rms_norm(const float* x, float* residual, const float* weight, float* out, std::int64_t rows, std::int64_t columns, float epsilon, Stream stream) {
  if (rows == 0) return;
  start(rms_norm, static_cast<unsigned>(rows), kThreads, 0, stream, x, residual, weight, out, columns, epsilon);
  check(cudaGetLastError(), "norm");
}

void launch_rotary(float* x, const std::int64_t* positions, std::int64_t rows, std::int64_t width, std::int64_t columns, Stream stream) {
  if (rows * (columns / 2) == 0) return;
  start(rotary, blocks_of(rows * (columns / 2)), kThreads, 0, stream, x, positions, rows, width, columns);
  check(cudaGetLastError(), "rotary");
}

void launch_activate(Activation function, const float* open, const float* factor, float* out, std::int64_t count, Stream stream) {
  if (count == 0) return;
  start(activate, blocks_of(count), kThreads, 0, stream, function, open, factor, out, count);
  check(cudaGetLastError(), "activation");
}

void launch_activate_rows(Activation function, bool gated, const void* rows, void* out, Element to, std::int64_t count, std::int64_t width, Stream stream) {
  if (count * width == 0) return;
  const auto run = [&]<class To>(To* target) {
    start(activate_rows<To>, blocks_of(count * width), kThreads, 0, stream, function, gated, static_cast<const __nv_bfloat16*>(rows), target, count * width, width);
  };
  if (to == Element::kFp8) run(static_cast<__nv_fp8_e4m3*>(out));
  else run(static_cast<__nv_bfloat16*>(out));
  check(cudaGetLastError(), "activation");
}

void launch_to_bf16(const float* from, void* to, std::int64_t count, Stream stream) {
  if (count == 0) return;
  start(to_bf16, blocks_of(count), kThreads, 0, stream, from, static_cast<__nv_bfloat16*>(to), count);
  check(cudaGetLastError(), "conversion to bf16");
}

void launch_to_fp8(const float* from, void* to, float scale, std::int64_t count, Stream stream) {
  if (count == 0) return;
  start(to_fp8, blocks_of(count), kThreads, 0, stream, from, static_cast<__nv_fp8_e4m3*>(to), scale, count);
  check(cudaGetLastError(), "conversion to fp8");
}

void launch_random(float* to, std::uint64_t seed, std::int64_t count, Stream stream) {
  if (count == 0) return;
  start(random_values, blocks_of(count), kThreads, 0, stream, to, seed, count);
  check(cudaGetLastError(), "random data");
}

}  // namespace shardplan::cuda
