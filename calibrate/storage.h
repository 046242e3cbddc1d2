// How the executor stores numbers: fp32, or rounded to bf16 wherever a value is stored or sent.
//
// Arithmetic is fp32 in both. A sharded run and the unsharded one add in another order and round other partial results. How much
// that may change a value is measured, not argued: the unsharded run is repeated with its roundings dithered, and what its own
// values then differ by is what such differences make of them (see Proof).
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

// What two runs may differ by after `stores` stores in a row, as a share of the largest value, where it is not measured: by how much a
// choice among scores may be worse than another run's. bf16: a random walk of independent roundings within u = 2^-9, so
// u * sqrt(2n/3), five of it among some 10^5 values, twice where two values are multiplied.
[[nodiscard]] inline double tolerance(Storage storage, std::int64_t stores) {
  if (storage == Storage::kFp32) return kProofTolerance;
  constexpr double kUnit = 1.0 / 512;
  return 2 * 5 * kUnit * std::sqrt(2.0 * static_cast<double>(stores) / 3);
}

// Other roundings of what a run stores: bf16 up or down with the odds that keep the mean; fp32 by as much as another order of some
// sixty-four terms would.
class Dither {
 public:
  explicit Dither(std::uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15ULL + 1) {}

  void apply(Storage storage, std::vector<float>& values) {
    for (float& x : values) {
      if (!std::isfinite(x)) continue;
      if (storage == Storage::kBf16) x = std::bit_cast<float>((std::bit_cast<std::uint32_t>(x) + (next() & 0xFFFFU)) & 0xFFFF0000U);
      else x *= 1.0F + kReordered * (static_cast<float>(next()) / 32768.0F - 1.0F);
    }
  }

 private:
  static constexpr float kReordered = 8.0F / 16777216.0F;
  std::uint32_t next() {   // sixteen bits
    state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<std::uint32_t>(state_ >> 48U);
  }
  std::uint64_t state_;
};

}  // namespace shardplan
