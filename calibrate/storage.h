// How the executor stores numbers: fp32, or rounded to bf16 wherever a value is stored or sent.
//
// Arithmetic is fp32 in both. bf16 keeps 8 significant bits, round to nearest even: a relative error of at most
// u = 2^-9 a store. A sharded run and the unsharded one round different partial results, and a difference below half a
// step may turn a later rounding, so after n stores in a row two runs differ like a random walk of n independent steps,
// each uniform in +-u in either run: standard deviation u * sqrt(2n/3). The largest of some 10^5 compared values lies
// within five of these. Where two values are multiplied (gate and up) the errors of both come together, over a largest
// product that is about half the product of the largest: twice that. fp32 has the fixed kProofTolerance instead: its sums differ in order alone.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#include "costmodel/tensor.h"

namespace shardplan {

enum class Storage : std::uint8_t { kFp32, kBf16 };

inline constexpr double kProofTolerance = 5e-6;

[[nodiscard]] inline float rounded_to_bf16(float x) {
  if (!std::isfinite(x)) return x;
  std::uint32_t bits = std::bit_cast<std::uint32_t>(x);
  bits += 0x7FFFU + ((bits >> 16U) & 1U);
  return std::bit_cast<float>(bits & 0xFFFF0000U);
}

inline void round_to_bf16(std::vector<float>& values) {
  for (float& x : values) x = rounded_to_bf16(x);
}

// Whether the tensor's numbers are rounded: token ids, routing and logits are declared fp32 and stay so.
[[nodiscard]] inline bool is_rounded(Storage storage, const Tensor& tensor) {
  return storage == Storage::kBf16 && tensor.format != nullptr && tensor.format->bits < 32 && !tensor.has(Dim::kSelected);
}

// Largest |a - b| / max |b| of two runs after `stores` stores in a row.
[[nodiscard]] inline double tolerance(Storage storage, std::int64_t stores) {
  if (storage == Storage::kFp32) return kProofTolerance;
  constexpr double kUnit = 1.0 / 512;
  return 2 * 5 * kUnit * std::sqrt(2.0 * static_cast<double>(stores) / 3);
}

}  // namespace shardplan
