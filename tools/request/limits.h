// The largest numbers that a flag accepts: beyond them a number describes nothing that anybody runs, and products of
// two of them still fit in 64 bits.
#pragma once

#include <cstdint>

namespace shardplan {

inline constexpr std::int64_t kMostGpus = 100'000;
inline constexpr std::int64_t kMostLayers = 100'000;
inline constexpr std::int64_t kMostParts = 1024;           // HOP-B parts, overlap chunks
inline constexpr std::int64_t kMostBlock = 65'536;         // tokens of a cache block
inline constexpr std::int64_t kMostTokens = 100'000'000;   // of a request, or of a step
inline constexpr std::int64_t kMostSequences = 10'000'000;
inline constexpr std::int64_t kMostRequests = 1'000'000'000;
inline constexpr std::int64_t kMostPlans = 10'000;
inline constexpr double kMostMilliseconds = 1e9;
inline constexpr double kMostRequestsPerSecond = 1e7;
inline constexpr double kMostGigabits = 100'000;
inline constexpr double kMostGib = 1024;                   // of one device
inline constexpr double kMostCapacityFactor = 1e6;

}  // namespace shardplan
