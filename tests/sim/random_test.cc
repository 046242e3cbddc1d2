#include "sim/random.h"

#include <array>

#include "tests/catch.h"

namespace shardplan {
namespace {

struct Moments {
  double mean = 0;
  double variance = 0;
};

template <class Draw>
Moments moments_of(const Draw& draw) {
  constexpr int kDraws = 200'000;
  double sum = 0, squares = 0;
  for (int i = 0; i < kDraws; ++i) {
    const double x = draw();
    sum += x;
    squares += x * x;
  }
  const double mean = sum / kDraws;
  return {.mean = mean, .variance = squares / kDraws - mean * mean};
}

TEST_CASE("Streams are named: the same name repeats, another is another") {
  Random a(7, "arrivals"), again(7, "arrivals"), other(7, "lengths"), seed(8, "arrivals");
  const std::uint64_t first = a.bits();
  CHECK(first == again.bits());
  CHECK(first != other.bits());
  CHECK(first != seed.bits());
}

TEST_CASE("The first draws are what they always were") {
  Random random(1, "golden");
  CHECK(random.bits() == 0x7548e5ec21659b89ULL);
  CHECK(random.bits() == 0x1ac0238c96909a66ULL);
  CHECK(random.bits() == 0xc1eb2ce9f9708928ULL);
  CHECK(mix_bits(1, 2) == 0xbcd9dbb49673066bULL);
}

TEST_CASE("Distributions have the moments of their names") {
  Random random(3, "moments");
  const Moments uniform = moments_of([&] { return random.uniform_ratio(); });
  CHECK(uniform.mean == Approx(0.5).margin(0.005));
  CHECK(uniform.variance == Approx(1.0 / 12).margin(0.002));
  const Moments exponential = moments_of([&] { return random.exponential_ratio(); });
  CHECK(exponential.mean == Approx(1).margin(0.01));
  CHECK(exponential.variance == Approx(1).margin(0.03));
  const Moments normal = moments_of([&] { return random.normal_ratio(); });
  CHECK(normal.mean == Approx(0).margin(0.01));
  CHECK(normal.variance == Approx(1).margin(0.02));
  for (const double shape : {0.25, 1.0, 4.0}) {
    const Moments gamma = moments_of([&] { return random.gamma_ratio(shape); });
    CHECK(gamma.mean == Approx(shape).epsilon(0.02));
    CHECK(gamma.variance == Approx(shape).epsilon(0.05));
  }
}

TEST_CASE("Whole numbers reach both ends and nothing else, evenly") {
  Random random(5, "integers");
  std::array<int, 6> seen{};
  for (int i = 0; i < 60'000; ++i) ++seen.at(static_cast<std::size_t>(random.integer(-2, 3) + 2));
  for (const int count : seen) CHECK(count == Approx(10'000).margin(400));
  CHECK(random.integer(9, 9) == 9);
}

}  // namespace
}  // namespace shardplan
