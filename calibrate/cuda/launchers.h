// Our own kernels, called from host code. All pointers are device memory; work goes to `stream`; launch errors are thrown.
#pragma once

#include <cstdint>

#include "calibrate/cuda/thread_work.h"
#include "calibrate/kernels/sampler.h"

struct CUstream_st;

namespace shardplan::cuda {

using Stream = CUstream_st*;

enum class Element : std::uint8_t { kFp32, kBf16, kFp8 };   // fp8: e4m3

// Queries [requests, tokens, heads, qk_dim], keys [requests, keys, kv_heads, qk_dim], values [requests, keys, kv_heads, v_stride] whose
// first v_dim columns count. Places are (request, position) as two int64 each. One request here is what is launched together: of a
// ragged batch all of it, whose places tell who sees whom.
struct AttentionLaunch {
  Element element = Element::kFp32;
  const void* q = nullptr;
  const void* k = nullptr;
  const void* v = nullptr;
  const std::int64_t* query_places = nullptr;   // [requests, tokens, 2], positions ascending where keys are in order
  const std::int64_t* key_places = nullptr;     // [requests, keys, 2]; nullptr: in order, key i of a request is at position i
  const std::int64_t* kv_head_of_head = nullptr;   // [heads]: local KV head of each local query head
  float* out = nullptr;                         // [requests, tokens, heads, v_dim]
  float* lse = nullptr;                         // [requests, tokens, heads]; -inf where nothing is seen
  std::int64_t requests = 1;
  std::int64_t group = 1;                       // neighbouring heads that all read the same KV head
  std::int64_t tokens = 0;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t keys = 0;
  std::int64_t qk_dim = 0;
  std::int64_t v_dim = 0;
  std::int64_t v_stride = 0;
  std::int64_t window = 0;
  float scale = 1;
  bool causal = true;
  [[nodiscard]] std::int64_t rows() const { return requests * tokens * heads; }
};

// Blocks of attention but for splits of the keys.
[[nodiscard]] std::int64_t attention_blocks(const AttentionLaunch& launch);

// A warp for each query; keys and values pass through shared memory tile by tile, softmax is online.
void launch_prefill_attention(const AttentionLaunch& launch, Stream stream);
// Keys of a query over `splits` blocks, each with its own log-sum-exp, then merged. `scratch` holds scratch_floats().
void launch_decode_attention(const AttentionLaunch& launch, std::int64_t splits, float* scratch, Stream stream);
[[nodiscard]] std::int64_t decode_scratch_floats(const AttentionLaunch& launch, std::int64_t splits);
// Two partial outputs into the first: O = sum exp(l_i - l) O_i.
void launch_lse_merge(float* out, float* lse, const float* other, const float* other_lse, std::int64_t rows, std::int64_t v_dim, Stream stream);

// out = (x + residual) * weight / rms; residual may be null; its sum is written back when not.
void launch_rms_norm(const float* x, float* residual, const float* weight, float* out, std::int64_t rows, std::int64_t columns, float epsilon, Stream stream);
// The last `columns` of each row turn by the row's position.
void launch_rotary(float* x, const std::int64_t* positions, std::int64_t rows, std::int64_t width, std::int64_t columns, Stream stream);
// function(open) * factor; factor may be null.
void launch_activate(Activation function, const float* open, const float* factor, float* out, std::int64_t count, Stream stream);
// The same of bf16 rows, with gate before up in each where it is gated: [count, (2 *) width] -> [count, width], bf16 or fp8.
void launch_activate_rows(Activation function, bool gated, const void* rows, void* out, Element to, std::int64_t count, std::int64_t width, Stream stream);

// Logits become logits + bias (null: none); then the per_token largest of each token, ties to the lower index.
void launch_choose_experts(float* logits, const float* bias, std::int32_t* chosen, std::int64_t tokens, std::int64_t expert_count, std::int64_t per_token,
                           Stream stream);
// Of the chosen in the softmax over all, renormalised if asked.
void launch_expert_shares(const float* logits, const std::int32_t* chosen, float* shares, std::int64_t tokens, std::int64_t expert_count,
                          std::int64_t per_token, bool renormalise, Stream stream);
// Where the row of each (token, expert) pair goes in the order of experts: `slot` [pairs] (-1 where its expert is negative: it lies
// elsewhere), and `begins` [expert_count + 1] where each expert's rows begin.
void launch_slots(const std::int32_t* experts, std::int32_t* slot, std::int32_t* begins, std::int64_t pairs, std::int64_t expert_count, Stream stream);
// Rows of `x` [tokens, columns] to their slots, in the same format or from bf16 to fp8.
void launch_permute(const void* x, Element from, void* permuted, Element to, const std::int32_t* slot, std::int64_t tokens, std::int64_t columns,
                    std::int64_t per_token, Stream stream);
// out[rows, n] = x[rows, k] w[expert, n, k]^T + bias[expert, n] (null: none), `rows` in the permuted order.
void launch_grouped_rows(const float* x, const float* w, const float* bias, const std::int32_t* begins, float* out, std::int64_t rows,
                         std::int64_t expert_count, GroupedShape shape, Stream stream);
// out[t] = sum of weights * rows at its slots, fp32 or bf16.
void launch_unpermute(const void* rows, Element element, const std::int32_t* slot, const float* weights, void* out, std::int64_t tokens,
                      std::int64_t columns, std::int64_t per_token, Stream stream);
// Rows of `x` of `width` floats, one below the other; and such rows added to those of `to`, each of which comes once.
void launch_take_rows(const float* x, const std::int64_t* rows, float* out, std::int64_t count, std::int64_t width, Stream stream);
void launch_add_rows(const float* values, const std::int64_t* rows, float* to, std::int64_t count, std::int64_t width, Stream stream);

// The largest of each row of logits, at the lower index where several are; and a draw as calibrate/kernels/sampler.h has it.
void launch_argmax(const float* logits, std::int32_t* tokens, std::int64_t rows, std::int64_t count, Stream stream);
void launch_draw(const float* logits, std::int32_t* tokens, std::int64_t rows, std::int64_t count, const SamplerSettings& settings, Stream stream);

void launch_to_bf16(const float* from, void* to, std::int64_t count, Stream stream);
void launch_to_fp8(const float* from, void* to, float scale, std::int64_t count, Stream stream);   // e4m3, saturating
// Uniform in [-1, 1), for measurements: never zeros, which draw less power.
void launch_random(float* to, std::uint64_t seed, std::int64_t count, Stream stream);

}  // namespace shardplan::cuda
