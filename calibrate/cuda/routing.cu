// Routing, rows in the order of their experts and back, and the products of routed experts in fp32.
#include <cmath>

#include "calibrate/cuda/check.h"
#include "calibrate/cuda/elements.h"
#include "calibrate/cuda/launch.h"
#include "calibrate/cuda/launchers.h"

namespace shardplan::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kWarp = 32;
constexpr int kTile = 16;  // rows and columns of a block of a grouped product

unsigned blocks_of(std::int64_t count) { return static_cast<unsigned>((count + kThreads - 1) / kThreads); }

// A thread per token: expert counts are a few hundred, per_token a handful.
__global__ void choose(float* logits, const float* bias, std::int32_t* chosen, std::int64_t tokens, std::int64_t count,
                       std::int64_t per_token) {
  const std::int64_t token = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (token >= tokens) return;
  float* own = logits + token * count;
  for (std::int64_t e = 0; bias != nullptr && e < count; ++e) own[e] += bias[e];
  choose_experts(own, count, per_token, chosen + token * per_token);
}

__global__ void share(const float* logits, const std::int32_t* chosen, float* shares, std::int64_t tokens,
                      std::int64_t count, std::int64_t per_token, bool renormalise) {
  const std::int64_t token = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (token >= tokens) return;
  expert_shares(logits + token * count, count, chosen + token * per_token, per_token, renormalise,
                shares + token * per_token);
}

// A block for each expert: how many pairs the experts before it have, then its own pairs' slots, in their order.
__global__ void assign_slots(const std::int32_t* experts, std::int32_t* slot, std::int32_t* begins,
                             std::int64_t pairs) {
  __shared__ std::uint32_t ballots[kThreads / kWarp];
  const auto expert = static_cast<std::int32_t>(blockIdx.x);
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  std::int32_t next = 0;
  for (std::int64_t first = 0; first < pairs; first += kThreads) {
    const std::int64_t i = first + threadIdx.x;
    const std::int32_t of = i < pairs ? experts[i] : -1;
    next += __syncthreads_count(of >= 0 && of < expert);
    if (expert == 0 && i < pairs && of < 0) slot[i] = -1;
  }
  if (threadIdx.x == 0) begins[expert] = next;
  for (std::int64_t first = 0; first < pairs; first += kThreads) {
    const std::int64_t i = first + threadIdx.x;
    const bool mine = i < pairs && experts[i] == expert;
    const std::uint32_t ballot = __ballot_sync(0xFFFFFFFFU, mine);
    if (lane == 0) ballots[warp] = ballot;
    const int count = __syncthreads_count(mine);
    if (mine) slot[i] = next + flags_before(ballots, warp, lane);
    next += count;
    __syncthreads();  // before the next round writes ballots
  }
  if (threadIdx.x == 0 && expert + 1 == static_cast<std::int32_t>(gridDim.x)) begins[expert + 1] = next;
}

template <class From, class To>
__global__ void copy_rows(const From* x, const std::int32_t* slot, To* permuted, std::int64_t columns,
                          std::int64_t per_token) {
  const std::int64_t pair = blockIdx.x;
  if (slot[pair] < 0) return;
  const From* from = x + pair / per_token * columns;
  To* to = permuted + static_cast<std::int64_t>(slot[pair]) * columns;
  for (std::int64_t c = threadIdx.x; c < columns; c += blockDim.x) write(to, c, read(from, c));
}

template <class T>
__global__ void return_rows(const T* rows, const std::int32_t* slot, const float* weights, T* out, std::int64_t columns,
                            std::int64_t per_token) {
  const std::int64_t token = blockIdx.x;
  for (std::int64_t c = threadIdx.x; c < columns; c += blockDim.x) {
    const auto number = [&](std::int64_t row) { return read(rows, row * columns + c); };
    write(out, token * columns + c, returned_number(number, slot, weights, per_token, token));
  }
}

// A block for a tile of one expert's rows and of columns; a thread for each number.
__global__ void grouped_rows(const float* x, const float* w, const float* bias, const std::int32_t* begins, float* out,
                             std::int64_t experts, GroupedShape shape) {
  const RowTile tile = row_tile(begins, experts, kTile, blockIdx.x);
  const std::int64_t row = tile.rows.first + threadIdx.y;
  const std::int64_t column = static_cast<std::int64_t>(blockIdx.y) * kTile + threadIdx.x;
  if (row >= tile.rows.end || column >= shape.n) return;
  out[row * shape.n + column] = grouped_number(shape, x, w, bias, tile.expert, row, column);
}

__global__ void take(const float* x, const std::int64_t* rows, float* out, std::int64_t width) {
  const float* from = x + rows[blockIdx.x] * width;
  float* to = out + static_cast<std::int64_t>(blockIdx.x) * width;
  for (std::int64_t c = threadIdx.x; c < width; c += blockDim.x) to[c] = from[c];
}

__global__ void add(const float* values, const std::int64_t* rows, float* to, std::int64_t width) {
  const float* from = values + static_cast<std::int64_t>(blockIdx.x) * width;
  float* row = to + rows[blockIdx.x] * width;
  for (std::int64_t c = threadIdx.x; c < width; c += blockDim.x) row[c] += from[c];
}

}  // namespace

void launch_choose_experts(float* logits, const float* bias, std::int32_t* chosen, std::int64_t tokens,
                           std::int64_t expert_count, std::int64_t per_token, Stream stream) {
  if (tokens == 0) return;
  start(choose, blocks_of(tokens), kThreads, 0, stream, logits, bias, chosen, tokens, expert_count, per_token);
  check(cudaGetLastError(), "choice of experts");
}

void launch_expert_shares(const float* logits, const std::int32_t* chosen, float* shares, std::int64_t tokens,
                          std::int64_t expert_count, std::int64_t per_token, bool renormalise, Stream stream) {
  if (tokens == 0) return;
  start(share, blocks_of(tokens), kThreads, 0, stream, logits, chosen, shares, tokens, expert_count, per_token,
                                                    renormalise);
  check(cudaGetLastError(), "shares of experts");
}

void launch_slots(const std::int32_t* experts, std::int32_t* slot, std::int32_t* begins, std::int64_t pairs,
                  std::int64_t expert_count, Stream stream) {
  if (pairs * expert_count == 0) return;
  start(assign_slots, static_cast<unsigned>(expert_count), kThreads, 0, stream, experts, slot, begins, pairs);
  check(cudaGetLastError(), "slots of experts");
}

void launch_permute(const void* x, Element from, void* permuted, Element to, const std::int32_t* slot,
                    std::int64_t tokens, std::int64_t columns, std::int64_t per_token, Stream stream) {
  if (tokens == 0) return;
  const auto run = [&]<class From, class To>(const From* source, To* target) {
    start(copy_rows<From, To>, static_cast<unsigned>(tokens * per_token), kThreads, 0, stream, source, slot, target, columns,
                                                                                  per_token);
  };
  const auto* bf16 = static_cast<const __nv_bfloat16*>(x);
  if (from == Element::kFp32)
    run(static_cast<const float*>(x), static_cast<float*>(permuted));
  else if (to == Element::kFp8)
    run(bf16, static_cast<__nv_fp8_e4m3*>(permuted));
  else
    run(bf16, static_cast<__nv_bfloat16*>(permuted));
  check(cudaGetLastError(), "permutation");
}

void launch_grouped_rows(const float* x, const float* w, const float* bias, const std::int32_t* begins, float* out,
                         std::int64_t rows, std::int64_t expert_count, GroupedShape shape, Stream stream) {
  const std::int64_t tiles = row_tiles(rows, expert_count, kTile);
  if (tiles * shape.n == 0) return;
  const dim3 grid(static_cast<unsigned>(tiles), static_cast<unsigned>((shape.n + kTile - 1) / kTile));
  start(grouped_rows, grid, dim3(kTile, kTile), 0, stream, x, w, bias, begins, out, expert_count, shape);
  check(cudaGetLastError(), "products of experts");
}

void launch_unpermute(const void* rows, Element element, const std::int32_t* slot, const float* weights, void* out,
                      std::int64_t tokens, std::int64_t columns, std::int64_t per_token, Stream stream) {
  if (tokens == 0) return;
  const auto run = [&]<class T>(const T* source, T* target) {
    start(return_rows<T>, static_cast<unsigned>(tokens), kThreads, 0, stream, source, slot, weights, target, columns,
                                                                        per_token);
  };
  if (element == Element::kFp32)
    run(static_cast<const float*>(rows), static_cast<float*>(out));
  else
    run(static_cast<const __nv_bfloat16*>(rows), static_cast<__nv_bfloat16*>(out));
  check(cudaGetLastError(), "return from experts");
}

void launch_take_rows(const float* x, const std::int64_t* rows, float* out, std::int64_t count, std::int64_t width,
                      Stream stream) {
  if (count == 0) return;
  start(take, static_cast<unsigned>(count), kThreads, 0, stream, x, rows, out, width);
  check(cudaGetLastError(), "rows to send");
}

void launch_add_rows(const float* values, const std::int64_t* rows, float* to, std::int64_t count, std::int64_t width,
                     Stream stream) {
  if (count == 0) return;
  start(add, static_cast<unsigned>(count), kThreads, 0, stream, values, rows, to, width);
  check(cudaGetLastError(), "rows that came");
}

}  // namespace shardplan::cuda
