// The simulator's own random numbers: the same on every machine that rounds as IEEE 754 does.
//
// xoshiro256++ seeded by splitmix64 (public domain algorithms of S. Vigna). Every use draws from a stream of its own,
// named by (seed, what it is for), so that one more draw in one place moves nothing elsewhere. Standard-library
// distributions differ between implementations and are not used.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace shardplan {

class Random {
 public:
  // The stream `name` of `seed`: "arrivals", "lengths", "router".
  Random(std::uint64_t seed, std::string_view name);

  [[nodiscard]] std::uint64_t bits();
  [[nodiscard]] double uniform_ratio();                                      // [0, 1)
  [[nodiscard]] std::int64_t integer(std::int64_t low, std::int64_t high);   // both included, unbiased
  [[nodiscard]] double exponential_ratio();                                  // mean 1
  [[nodiscard]] double normal_ratio();                                       // mean 0, deviation 1
  [[nodiscard]] double gamma_ratio(double shape_ratio);                      // mean = shape, scale 1; shape > 0

 private:
  std::array<std::uint64_t, 4> state_{};
};

// A 64-bit hash of two numbers (splitmix64's finaliser): block identities, not cryptography.
[[nodiscard]] std::uint64_t mix_bits(std::uint64_t a, std::uint64_t b);

}  // namespace shardplan
