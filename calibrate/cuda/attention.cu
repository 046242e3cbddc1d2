#include <cmath>

#include "calibrate/cuda/check.h"
#include "calibrate/cuda/elements.h"
#include "calibrate/cuda/index_logic.h"
#include "calibrate/cuda/launch.h"
#include "calibrate/cuda/launchers.h"

namespace shardplan::cuda {
namespace {

constexpr int kWarp = 32;
constexpr int kWarps = 4;                 // rows of a block
constexpr int kMostPerLane = 16;          // accumulators: v_dim up to 512
constexpr std::int64_t kShared = 40 * 1024;       // of a tile's keys and values
constexpr std::int64_t kMostShared = 64 * 1024;   // queries beside; what every launch may have, whatever another thread launches meanwhile

__device__ float warp_max(float x) {
  for (int step = kWarp / 2; step > 0; step /= 2) x = fmaxf(x, __shfl_xor_sync(0xFFFFFFFFU, x, step));
  return x;
}

__device__ float warp_sum(float x) {
  for (int step = kWarp / 2; step > 0; step /= 2) x += __shfl_xor_sync(0xFFFFFFFFU, x, step);
  return x;
}

struct Running {
  float most = -INFINITY;
  float sum = 0;
  float acc[kMostPerLane] = {};
};

// One tile of keys for one query of a warp: lane i scores key i, then lanes share the columns of V.
__device__ void take_tile(const AttentionLaunch& a, const float* q, const float* k, const float* v, const std::int64_t* query_place,
                          const std::int64_t* key_places, std::int64_t first, int count, int lane, Running& run) {
  float score = -INFINITY;
  if (lane < count) {
    const std::int64_t key_request = key_places != nullptr ? key_places[2 * (first + lane)] : query_place[0];
    const std::int64_t key = key_places != nullptr ? key_places[2 * (first + lane) + 1] : first + lane;
    if (sees(query_place[0], query_place[1], key_request, key, a.causal, a.window)) {
      score = 0;
      for (std::int64_t c = 0; c < a.qk_dim; ++c) score += q[c] * k[lane * a.qk_dim + c];
      score *= a.scale;
    }
  }
  const float most = fmaxf(run.most, warp_max(score));
  if (most == -INFINITY) return;
  const float fade = run.most == -INFINITY ? 0.0F : expf(run.most - most);
  const float weight = score == -INFINITY ? 0.0F : expf(score - most);
  run.sum = run.sum * fade + warp_sum(weight);
  run.most = most;
  for (int i = 0; i < kMostPerLane; ++i) run.acc[i] *= fade;
  for (int key = 0; key < count; ++key) {
    const float share = __shfl_sync(0xFFFFFFFFU, weight, key);
    for (int i = 0; i < kMostPerLane; ++i) {
      const std::int64_t column = lane + static_cast<std::int64_t>(i) * kWarp;
      if (column < a.v_dim) run.acc[i] += share * v[key * a.v_dim + column];
    }
  }
}

__device__ void put(const AttentionLaunch& a, const Running& run, std::int64_t row, int lane, float* out, float* lse) {
  const bool any = run.most != -INFINITY;
  for (int i = 0; i < kMostPerLane; ++i) {
    const std::int64_t column = lane + static_cast<std::int64_t>(i) * kWarp;
    if (column < a.v_dim) out[row * a.v_dim + column] = any ? run.acc[i] / run.sum : 0.0F;
  }
  if (lane == 0) lse[row] = any ? run.most + logf(run.sum) : -INFINITY;
}

// The keys that the block's queries may see at all, where that is known beforehand.
__device__ Range keys_of_block(const AttentionLaunch& a, const std::int64_t* query_places) {
  if (a.key_places != nullptr) return {0, a.keys};
  const std::int64_t first = attention_row(blockIdx.x, 0, kWarps, a.group, 0).token;
  const std::int64_t last = attention_row(blockIdx.x, kWarps - 1, kWarps, a.group, 0).token;
  return visible_keys(query_places[2 * first + 1], query_places[2 * (last < a.tokens ? last : a.tokens - 1) + 1], a.keys, a.causal, a.window);
}

// Warps of a block: rows of one group of heads over the keys of one part. Shared: queries, then a tile of K and one of V.
template <class T>
__global__ void attend(AttentionLaunch a, std::int64_t splits, float* out, float* lse) {
  SHARDPLAN_LAUNCH_SHARED(float, shared);
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const AttentionBlock block = attention_block(blockIdx.z, splits);
  const AttentionRow own = attention_row(blockIdx.x, warp, kWarps, a.group, blockIdx.y);
  const bool works = own.token < a.tokens;
  const std::int64_t row = (block.request * a.tokens + own.token) * a.heads + own.head;
  const std::int64_t tile = tile_keys(a.qk_dim, a.v_dim, kShared);
  float* queries = shared;
  float* k_tile = shared + kWarps * a.qk_dim;
  float* v_tile = k_tile + tile * a.qk_dim;
  const T* q = static_cast<const T*>(a.q);
  const T* k = static_cast<const T*>(a.k) + block.request * a.keys * a.kv_heads * a.qk_dim;
  const T* v = static_cast<const T*>(a.v) + block.request * a.keys * a.kv_heads * a.v_stride;
  const std::int64_t* query_places = a.query_places + 2 * block.request * a.tokens;
  const std::int64_t* key_places = a.key_places != nullptr ? a.key_places + 2 * block.request * a.keys : nullptr;
  if (works) {
    for (std::int64_t c = lane; c < a.qk_dim; c += kWarp) queries[warp * a.qk_dim + c] = read(q, row * a.qk_dim + c);
  }
  const std::int64_t kv_head = a.kv_head_of_head[blockIdx.y * a.group];
  const Range visible = keys_of_block(a, query_places);
  const Range part = split_range(visible.end - visible.first, splits, block.split, tile);
  Running run;
  for (std::int64_t first = visible.first + part.first; first < visible.first + part.end; first += tile) {
    const std::int64_t left = visible.first + part.end - first;
    const int count = static_cast<int>(left < tile ? left : tile);
    __syncthreads();
    for (std::int64_t i = threadIdx.x; i < count * a.qk_dim; i += blockDim.x) {
      k_tile[i] = read(k, ((first + i / a.qk_dim) * a.kv_heads + kv_head) * a.qk_dim + i % a.qk_dim);
    }
    for (std::int64_t i = threadIdx.x; i < count * a.v_dim; i += blockDim.x) {
      v_tile[i] = read(v, ((first + i / a.v_dim) * a.kv_heads + kv_head) * a.v_stride + i % a.v_dim);
    }
    __syncthreads();
    if (works) take_tile(a, queries + warp * a.qk_dim, k_tile, v_tile, query_places + 2 * own.token, key_places, first, count, lane, run);
  }
  if (works) put(a, run, row, lane, out + block.split * a.requests * a.tokens * a.heads * a.v_dim, lse + block.split * a.requests * a.tokens * a.heads);
}

// A block per row; threads over columns.
__global__ void merge_splits(const float* parts, const float* part_lse, std::int64_t splits, std::int64_t rows, std::int64_t v_dim, float* out, float* lse) {
  const std::int64_t row = blockIdx.x;
  float most = -INFINITY;
  for (std::int64_t s = 0; s < splits; ++s) most = fmaxf(most, part_lse[s * rows + row]);
  float sum = 0;
  for (std::int64_t s = 0; s < splits && most != -INFINITY; ++s) sum += expf(part_lse[s * rows + row] - most);
  const float whole = most == -INFINITY ? -INFINITY : most + logf(sum);
  for (std::int64_t c = threadIdx.x; c < v_dim; c += blockDim.x) {
    float o = 0;
    for (std::int64_t s = 0; s < splits && most != -INFINITY; ++s) o += expf(part_lse[s * rows + row] - whole) * parts[(s * rows + row) * v_dim + c];
    out[row * v_dim + c] = o;
  }
  if (threadIdx.x == 0) lse[row] = whole;
}

__global__ void merge_two(float* out, float* lse, const float* other, const float* other_lse, std::int64_t v_dim) {
  const std::int64_t row = blockIdx.x;
  const float a = lse[row];
  const float b = other_lse[row];
  const float most = fmaxf(a, b);
  const float whole = most == -INFINITY ? -INFINITY : most + logf(expf(a - most) + expf(b - most));
  const float wa = a == -INFINITY ? 0.0F : expf(a - whole);
  const float wb = b == -INFINITY ? 0.0F : expf(b - whole);
  __syncthreads();
  for (std::int64_t c = threadIdx.x; c < v_dim; c += blockDim.x) out[row * v_dim + c] = wa * out[row * v_dim + c] + wb * other[row * v_dim + c];
  if (threadIdx.x == 0) lse[row] = whole;
}

dim3 attention_grid(const AttentionLaunch& a, std::int64_t splits) {
  return {static_cast<unsigned>((a.tokens * a.group + kWarps - 1) / kWarps), static_cast<unsigned>(a.heads / a.group), static_cast<unsigned>(a.requests * splits)};
}

void launch(const AttentionLaunch& a, std::int64_t splits, float* out, float* lse, Stream stream) {
  const std::int64_t tile = tile_keys(a.qk_dim, a.v_dim, kShared);
  const auto bytes = static_cast<std::size_t>((kWarps * a.qk_dim + tile * (a.qk_dim + a.v_dim)) * static_cast<std::int64_t>(sizeof(float)));
  if (a.v_dim > kMostPerLane * kWarp || bytes > kMostShared) throw EnvironmentError("CUDA: attention with heads wider than our kernel takes");
  if (a.rows() == 0) return;
  const auto run = [&](auto kernel) {
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(kMostShared)), "shared memory of attention");
    start(kernel, attention_grid(a, splits), kWarps * kWarp, bytes, stream, a, splits, out, lse);
  };
  if (a.element == Element::kFp32) run(attend<float>);
  else run(attend<__nv_bfloat16>);
  check(cudaGetLastError(), "attention");
}

}  // namespace

std::int64_t attention_blocks(const AttentionLaunch& a) {
  const dim3 grid = attention_grid(a, 1);
  return static_cast<std::int64_t>(grid.x) * grid.y * grid.z;
}

void launch_prefill_attention(const AttentionLaunch& a, Stream stream) { launch(a, 1, a.out, a.lse, stream); }

std::int64_t decode_scratch_floats(const AttentionLaunch& a, std::int64_t splits) { return splits * a.rows() * (a.v_dim + 1); }

void launch_decode_attention(const AttentionLaunch& a, std::int64_t splits, float* scratch, Stream stream) {
  if (splits <= 1) return launch_prefill_attention(a, stream);
  float* part_lse = scratch + splits * a.rows() * a.v_dim;
  launch(a, splits, scratch, part_lse, stream);
  if (a.rows() == 0) return;
  start(merge_splits, static_cast<unsigned>(a.rows()), 128, 0, stream, scratch, part_lse, splits, a.rows(), a.v_dim, a.out, a.lse);
  check(cudaGetLastError(), "merge of attention");
}

void launch_lse_merge(float* out, float* lse, const float* other, const float* other_lse, std::int64_t rows, std::int64_t v_dim, Stream stream) {
  if (rows == 0) return;
  start(merge_two, static_cast<unsigned>(rows), 128, 0, stream, out, lse, other, other_lse, v_dim);
  check(cudaGetLastError(), "merge by log-sum-exp");
}

}  // namespace shardplan::cuda
