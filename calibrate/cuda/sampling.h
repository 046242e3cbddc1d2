// One row of logits to one token, by a team of threads: a block on the device, one thread in the host's tests.
//
// A team has index() and size() of its threads, sum, most and larger over all of them, and 256 bins of counts and
// masses that all threads add to between clear_bins() and full_bins(). As calibrate/kernels/sampler.h has it,
// thresholds being found byte by byte of the weights' bits, which order as the weights do.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "calibrate/cuda/thread_work.h"
#include "calibrate/kernels/sampler.h"

namespace shardplan::cuda {

inline constexpr int kBins = 256;

SHARDPLAN_ON_BOTH inline std::uint32_t bits_of(float x) {
#ifdef __CUDA_ARCH__
  return __float_as_uint(x);
#else
  return std::bit_cast<std::uint32_t>(x);
#endif
}

template <class Team>
SHARDPLAN_ON_BOTH inline Entry likeliest(Team& team, const float* logits, std::int64_t count) {
  Entry best;
  for (std::int64_t i = team.index(); i < count; i += team.size()) best = larger(best, {logits[i], i});
  return team.larger(best);
}

// What a row's weights are: exp((x - most) / temperature).
struct RowWeights {
  const float* logits = nullptr;
  std::int64_t count = 0;
  float most = 0;
  float temperature = 1;
  SHARDPLAN_ON_BOTH float operator()(std::int64_t i) const { return expf((logits[i] - most) / temperature); }
};

// The bits of the largest weight such that those at least as large are `wanted` or more, in number or in mass; of the
// least one there is when all are fewer.
template <class Team>
SHARDPLAN_ON_BOTH inline std::uint32_t threshold_bits(Team& team, const RowWeights& weights, bool by_mass,
                                                      float wanted) {
  std::uint32_t prefix = 0;  // the bytes that are known
  float above = 0;           // of what is larger than all that begins so
  for (int shift = 24; shift >= 0; shift -= 8) {
    team.clear_bins();
    for (std::int64_t i = team.index(); i < weights.count; i += team.size()) {
      const float w = weights(i);
      const std::uint32_t bits = bits_of(w);
      if (shift == 24 || bits >> static_cast<unsigned>(shift + 8) == prefix >> static_cast<unsigned>(shift + 8)) {
        team.add_to_bin(static_cast<int>(bits >> static_cast<unsigned>(shift) & 0xFFU), by_mass ? w : 1.0F);
      }
    }
    const float* bins = team.full_bins();
    int bin = -1;  // the last one with anything in it where all together are fewer
    float sum = above;
    for (int b = kBins - 1; b >= 0 && (bin < 0 || sum < wanted); --b) {
      if (bins[b] <= 0) continue;
      bin = b;
      above = sum;
      sum += bins[b];
    }
    if (bin < 0) return prefix;
    prefix |= static_cast<std::uint32_t>(bin) << static_cast<unsigned>(shift);
  }
  return prefix;
}

template <class Team>
SHARDPLAN_ON_BOTH inline std::int64_t drawn(Team& team, const float* logits, std::int64_t count,
                                            const SamplerSettings& settings, std::int64_t row) {
  const RowWeights weights{logits, count, likeliest(team, logits, count).value, settings.temperature};
  std::uint32_t least = 0;
  if (settings.top_k > 0 && settings.top_k < count)
    least = threshold_bits(team, weights, false, static_cast<float>(settings.top_k));
  if (settings.top_p < 1) {
    float mass = 0;
    for (std::int64_t i = team.index(); i < count; i += team.size()) {
      const float w = weights(i);
      if (bits_of(w) >= least) mass += w;
    }
    const std::uint32_t of_mass = threshold_bits(team, weights, true, settings.top_p * team.sum(mass));
    least = of_mass > least ? of_mass : least;
  }
  Entry best;
  for (std::int64_t i = team.index(); i < count; i += team.size()) {
    const float w = weights(i);
    if (bits_of(w) >= least) best = larger(best, {w / race_time(settings.seed, row, i), i});
  }
  return team.larger(best).index;
}

}  // namespace shardplan::cuda
