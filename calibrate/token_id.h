// A token or cached position as one number: the global index of the ragged dimensions.
//
// request * 2^32 + position, so that it means the same in every step, batch and rank. Wrong for requests or
// positions of 2^31 and more.
#pragma once

#include <cstdint>

#include "costmodel/index_sets.h"

namespace shardplan {

[[nodiscard]] constexpr std::int64_t token_id(std::int64_t request, std::int64_t position) {
  return (request << 32) | position;
}
[[nodiscard]] constexpr std::int64_t token_id(const TokenIndex& token) { return token_id(token.request, token.position); }
[[nodiscard]] constexpr std::int64_t request_of(std::int64_t id) { return id >> 32; }
[[nodiscard]] constexpr std::int64_t position_of(std::int64_t id) { return id & 0xFFFFFFFFLL; }

}  // namespace shardplan
