// Sampling as engines do it: softmax at a temperature, the k likeliest tokens, of these the likeliest that together
// have the mass p, and one of them drawn by its probability.
//
// The draw is a race: of the tokens that are left the one with the largest weight / q wins, q exponential (Gumbel's
// trick), so that no running sum over the vocabulary is needed. Tokens as likely as the last one kept are kept as well.
#pragma once

#include <cmath>
#include <cstdint>

#include "calibrate/local_array.h"
#include "calibrate/on_both.h"

namespace shardplan {

struct SamplerSettings {
  float temperature = 1;
  std::int64_t top_k = 0;  // 0: all
  float top_p = 1;
  std::uint64_t seed = 0;
};

// What measurements of sampling use.
inline constexpr SamplerSettings kMeasuredSampler{.temperature = 0.7F, .top_k = 50, .top_p = 0.9F, .seed = 1};

// Exponential with mean 1, by seed, row and token.
SHARDPLAN_ON_BOTH inline float race_time(std::uint64_t seed, std::int64_t row, std::int64_t token) {
  std::uint64_t x = seed + 0x9E3779B97F4A7C15ULL * static_cast<std::uint64_t>(row * 0x100000001LL + token + 1);
  x = (x ^ (x >> 30U)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27U)) * 0x94D049BB133111EBULL;
  x ^= x >> 31U;
  return -logf((static_cast<float>(x >> 41U) + 0.5F) /
               8388608.0F);  // of a number in (0, 1): 23 bits and a half are a float's 24
}

// Index of the drawn token of one row of `count` logits. Precondition: count > 0, temperature > 0, 0 < top_p <= 1.
[[nodiscard]] std::int64_t drawn_token(const float* logits, std::int64_t count, const SamplerSettings& settings,
                                       std::int64_t row);
// Rows as sample() (vocabulary.h) has them.
void sample_top_p(const LocalArray& logits, const SamplerSettings& settings, LocalArray& token_ids);

}  // namespace shardplan
