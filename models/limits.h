// Largest sizes that a config.json may state.
//
// Each is far above any published model. Together with kMaxParameters they bound every product that
// the layers above form in 64-bit integers: 1e15 parameters times 64 bits stays below 2^63.
#pragma once

#include <cstdint>

namespace shardplan {

inline constexpr std::int64_t kMaxHidden = 1'000'000;
inline constexpr std::int64_t kMaxIntermediate = 100'000'000;
inline constexpr std::int64_t kMaxVocab = 100'000'000;
inline constexpr std::int64_t kMaxLayers = 10'000;
inline constexpr std::int64_t kMaxHeads = 65'536;
inline constexpr std::int64_t kMaxHeadDim = 65'536;
inline constexpr std::int64_t kMaxExperts = 65'536;
inline constexpr std::int64_t kMaxPositions = 10'000'000'000;
inline constexpr std::int64_t kMaxParameters = 1'000'000'000'000'000;

}  // namespace shardplan
