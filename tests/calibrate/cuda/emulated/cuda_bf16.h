// bf16 in device memory.
#pragma once

#include <bit>
#include <cstdint>

struct __nv_bfloat16 {
  std::uint16_t bits;
};
inline float __bfloat162float(__nv_bfloat16 x) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(x.bits) << 16U);
}
inline __nv_bfloat16 __float2bfloat16_rn(float x) {
  std::uint32_t bits = std::bit_cast<std::uint32_t>(x);
  if (x == x) bits += 0x7FFFU + ((bits >> 16U) & 1U);
  return {static_cast<std::uint16_t>(bits >> 16U)};
}
