#include "sim/random.h"

#include <bit>
#include <cmath>
#include <numbers>

namespace shardplan {
namespace {

std::uint64_t splitmix(std::uint64_t& state) {
  state += 0x9E3779B97F4A7C15ULL;
  std::uint64_t z = state;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
  return z ^ (z >> 31);
}

// FNV-1a.
std::uint64_t hash_of(std::string_view name) {
  std::uint64_t hash = 0xCBF29CE484222325ULL;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3ULL;
  return hash;
}

}  // namespace

std::uint64_t mix_bits(std::uint64_t a, std::uint64_t b) {
  std::uint64_t state = a;
  state = splitmix(state) ^ b;
  return splitmix(state);
}

Random::Random(std::uint64_t seed, std::string_view name) {
  std::uint64_t state = mix_bits(seed, hash_of(name));
  for (std::uint64_t& word : state_) word = splitmix(state);
}

std::uint64_t Random::bits() {
  const std::uint64_t result = std::rotl(state_[0] + state_[3], 23) + state_[0];
  const std::uint64_t t = state_[1] << 17;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= t;
  state_[3] = std::rotl(state_[3], 45);
  return result;
}

double Random::uniform_ratio() { return static_cast<double>(bits() >> 11) * 0x1.0p-53; }

// Draws that would favour some residues are thrown away.
std::int64_t Random::integer(std::int64_t low, std::int64_t high) {
  const std::uint64_t range = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low) + 1;
  if (range == 0) return static_cast<std::int64_t>(bits());
  const std::uint64_t limit = ~std::uint64_t{0} - (~std::uint64_t{0} % range + 1) % range;
  std::uint64_t draw = bits();
  while (draw > limit) draw = bits();
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(low) + draw % range);
}

double Random::exponential_ratio() { return -std::log1p(-uniform_ratio()); }

// Box and Muller 1958.
double Random::normal_ratio() {
  const double radius = std::sqrt(2 * exponential_ratio());
  return radius * std::cos(2 * std::numbers::pi * uniform_ratio());
}

// Marsaglia and Tsang 2000; below 1 by the usual power of a uniform draw.
double Random::gamma_ratio(double shape_ratio) {
  if (shape_ratio < 1) {
    const double boost = std::pow(1 - uniform_ratio(), 1 / shape_ratio);
    return gamma_ratio(shape_ratio + 1) * boost;
  }
  const double d = shape_ratio - 1.0 / 3.0;
  const double c = 1 / std::sqrt(9 * d);
  for (;;) {
    const double x = normal_ratio();
    const double v = (1 + c * x) * (1 + c * x) * (1 + c * x);
    if (v <= 0) continue;
    if (std::log(1 - uniform_ratio()) < 0.5 * x * x + d - d * v + d * std::log(v)) return d * v;
  }
}

}  // namespace shardplan
