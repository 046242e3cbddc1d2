#include "sim/routing_draws.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "sim/random.h"

namespace shardplan {
namespace {

constexpr int kPowers = 21;               // up to 2^20 tokens
constexpr std::int64_t kLayerDraws = 512;
constexpr double kFewRows = 30;           // below, counts one by one; above, as good as normal

// Poisson by multiplication of uniforms (Knuth).
double few(double mean, Random& random) {
  const double limit = std::exp(-mean);
  double product = random.uniform_ratio();
  double count = 0;
  for (; product > limit; product *= random.uniform_ratio()) ++count;
  return count;
}

double rows_of(const RankShare& share, double tokens, Random& random) {
  const double mean = tokens * share.rows_per_token_ratio;
  if (mean < kFewRows) return few(mean, random);
  return std::max(0.0, mean + std::sqrt(tokens * share.variance_per_token_ratio) * random.normal_ratio());
}

// Of one layer in one step: all picks together are what they must be.
double layer_excess(const std::vector<RankShare>& ranks, double tokens, Random& random) {
  double sum = 0;
  double most = 0;
  double share = 0;
  double shares = 0;
  for (const RankShare& rank : ranks) {
    const double rows = rows_of(rank, tokens, random);
    sum += rows;
    most = std::max(most, rows);
    share = std::max(share, rank.rows_per_token_ratio);
    shares += rank.rows_per_token_ratio;
  }
  return sum > 0 ? most / sum * shares / share - 1 : 0;
}

}  // namespace

RoutingDraws::RoutingDraws(const std::vector<RankShare>& ranks, std::int64_t layers, std::uint64_t seed) {
  Random random(seed, "routing");
  const std::int64_t averaged = std::clamp<std::int64_t>(layers, 1, 64);
  std::vector<double> drawn(static_cast<std::size_t>(kLayerDraws));
  for (int power = 0; power < kPowers; ++power) {
    for (double& each : drawn) each = layer_excess(ranks, std::ldexp(1.0, power), random);
    std::vector<std::int64_t>& sums = sums_.emplace_back(1, 0);
    for (std::int64_t step = 0; step < kSteps; ++step) {
      double sum = 0;
      for (std::int64_t layer = 0; layer < averaged; ++layer) sum += drawn[static_cast<std::size_t>(random.integer(0, kLayerDraws - 1))];
      sums.push_back(sums.back() + std::llround(sum / static_cast<double>(averaged) * static_cast<double>(kUnit)));
    }
  }
}

std::int64_t RoutingDraws::first_draw(std::int64_t replica) {
  return static_cast<std::int64_t>(mix_bits(static_cast<std::uint64_t>(replica), 0) % kSteps);
}

std::int64_t RoutingDraws::excess(std::int64_t tokens, std::int64_t first, std::int64_t count) const {
  const auto bits = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(std::max<std::int64_t>(1, tokens + tokens / 2)))) - 1;   // the nearest power
  const std::vector<std::int64_t>& sums = sums_[static_cast<std::size_t>(std::min(bits, kPowers - 1))];
  const auto before = [&](std::int64_t step) { return step / kSteps * sums.back() + sums[static_cast<std::size_t>(step % kSteps)]; };
  return before(first + count) - before(first);
}

}  // namespace shardplan
