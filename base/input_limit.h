// How much of a file is read, whatever it holds: tables, logs and documents beyond this are refused, not read.
#pragma once

#include <cstdint>

namespace shardplan {

inline constexpr std::int64_t kMostInputBytes = 256LL << 20;

}  // namespace shardplan
