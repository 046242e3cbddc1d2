// Routing, and rows in the order of their experts and back.
#include <cmath>

#include "calibrate/cuda/check.h"
#include "calibrate/cuda/launchers.h"

namespace shardplan::cuda {
namespace {

constexpr int kThreads = 256;

// A thread per token: expert counts are a few hundred, per_token a handful.
__global__ void route(const float* logits, std::int32_t* experts, float* weights, std::int64_t tokens, std::int64_t count, std::int64_t per_token,
                      bool renormalise) {
  const std::int64_t token = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (token >= tokens) return;
  const float* own = logits + token * count;
  float most = -INFINITY;
  for (std::int64_t e = 0; e < count; ++e) most = fmaxf(most, own[e]);
  float all = 0;
  for (std::int64_t e = 0; e < count; ++e) all += expf(own[e] - most);
  float chosen = 0;
  float bound = INFINITY;          // of the last choice: the next is smaller, or equal with a higher index
  std::int64_t last = -1;
  for (std::int64_t j = 0; j < per_token; ++j) {
    std::int64_t best = -1;
    for (std::int64_t e = 0; e < count; ++e) {
      const bool left = own[e] < bound || (own[e] == bound && e > last);
      if (left && (best < 0 || own[e] > own[best])) best = e;
    }
    if (best < 0) break;
    bound = own[best];
    last = best;
    const float share = expf(own[best] - most) / all;
    experts[token * per_token + j] = static_cast<std::int32_t>(best);
    weights[token * per_token + j] = share;
    chosen += share;
  }
  for (std::int64_t j = 0; renormalise && j < per_token; ++j) weights[token * per_token + j] /= chosen;
}

// One block: counts, then begins, then each pair's slot in its expert's rows, in the order of pairs.
__global__ void assign_slots(const std::int32_t* experts, std::int32_t* slot, std::int32_t* begins, std::int64_t pairs, std::int64_t expert_count) {
  for (std::int64_t e = threadIdx.x; e < expert_count; e += blockDim.x) {
    std::int32_t rows = 0;
    for (std::int64_t i = 0; i < pairs; ++i) rows += experts[i] == e ? 1 : 0;
    begins[e + 1] = rows;
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    begins[0] = 0;
    for (std::int64_t e = 0; e < expert_count; ++e) begins[e + 1] += begins[e];
  }
  __syncthreads();
  for (std::int64_t e = threadIdx.x; e < expert_count; e += blockDim.x) {
    std::int32_t next = begins[e];
    for (std::int64_t i = 0; i < pairs; ++i) {
      if (experts[i] == e) slot[i] = next++;
    }
  }
}

__global__ void copy_rows(const float* x, const std::int32_t* slot, float* permuted, std::int64_t columns, std::int64_t per_token) {
  const std::int64_t pair = blockIdx.x;
  const float* from = x + pair / per_token * columns;
  float* to = permuted + static_cast<std::int64_t>(slot[pair]) * columns;
  for (std::int64_t c = threadIdx.x; c < columns; c += blockDim.x) to[c] = from[c];
}

__global__ void add_rows(const float* rows, const std::int32_t* slot, const float* weights, float* out, std::int64_t columns, std::int64_t per_token) {
  const std::int64_t token = blockIdx.x;
  for (std::int64_t c = threadIdx.x; c < columns; c += blockDim.x) {
    float sum = 0;
    for (std::int64_t j = 0; j < per_token; ++j) {
      const std::int64_t pair = token * per_token + j;
      sum += weights[pair] * rows[static_cast<std::int64_t>(slot[pair]) * columns + c];
    }
    out[token * columns + c] = sum;
  }
}

}  // namespace

void launch_route(const float* logits, std::int32_t* experts, float* weights, std::int64_t tokens, std::int64_t expert_count, std::int64_t per_token,
                  bool renormalise, Stream stream) {
  if (tokens == 0) return;
  route<<<static_cast<unsigned>((tokens + kThreads - 1) / kThreads), kThreads, 0, stream>>>(logits, experts, weights, tokens, expert_count, per_token, renormalise);
  check(cudaGetLastError(), "routing");
}

void launch_permute(const float* x, const std::int32_t* experts, float* permuted, std::int32_t* slot, std::int32_t* begins, std::int64_t tokens,
                    std::int64_t columns, std::int64_t expert_count, std::int64_t per_token, Stream stream) {
  assign_slots<<<1, kThreads, 0, stream>>>(experts, slot, begins, tokens * per_token, expert_count);
  check(cudaGetLastError(), "slots of experts");
  if (tokens == 0) return;
  copy_rows<<<static_cast<unsigned>(tokens * per_token), kThreads, 0, stream>>>(x, slot, permuted, columns, per_token);
  check(cudaGetLastError(), "permutation");
}

void launch_unpermute(const float* rows, const std::int32_t* slot, const float* weights, float* out, std::int64_t tokens, std::int64_t columns,
                      std::int64_t per_token, Stream stream) {
  if (tokens == 0) return;
  add_rows<<<static_cast<unsigned>(tokens), kThreads, 0, stream>>>(rows, slot, weights, out, columns, per_token);
  check(cudaGetLastError(), "return from experts");
}

}  // namespace shardplan::cuda
