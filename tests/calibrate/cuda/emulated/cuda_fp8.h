// e4m3 in device memory: numbers to the nearest, ties to even, the largest where they are beyond it.
#pragma once

#include <cmath>
#include <cstdint>

struct __nv_fp8_e4m3 {
  std::uint8_t bits = 0;
  __nv_fp8_e4m3() = default;
  explicit __nv_fp8_e4m3(float x) {
    const std::uint8_t sign = std::signbit(x) ? 0x80 : 0;
    const float size = std::fmin(std::fabs(x), 448.0F);
    const int exponent = size < 0.015625F ? -6 : std::ilogb(size);
    const auto steps = static_cast<int>(std::nearbyint(std::ldexp(size, 3 - exponent)));  // of an eighth
    bits = static_cast<std::uint8_t>(
        sign | (((exponent + 6) << 3) + steps));  // the carry of sixteen eighths is the next exponent
  }
  explicit operator float() const {
    const int exponent = bits >> 3U & 0xFU;
    const int mantissa = bits & 7U;
    const float size = exponent == 0 ? std::ldexp(static_cast<float>(mantissa), -9)
                                     : std::ldexp(static_cast<float>(8 + mantissa), exponent - 10);
    return (bits & 0x80U) != 0 ? -size : size;
  }
};
