// What an instance does with requests.
#pragma once

#include <cstdint>

namespace shardplan {

// Prompts and answers, or one side of a pair of pools.
enum class PoolRole : std::uint8_t { kServe, kPrefill, kDecode };

}  // namespace shardplan
