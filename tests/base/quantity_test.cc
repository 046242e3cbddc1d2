// Arithmetic that stays in its unit, and that never wraps silently.
#include "base/quantity.h"

#include <limits>
#include <type_traits>

#include "tests/base/message_of.h"
#include "tests/catch.h"

namespace shardplan {
namespace {

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();

template <class A, class B>
concept Addable = requires(A a, B b) { a + b; };

static_assert(Addable<Bytes, Bytes> && !Addable<Bytes, Seconds> && !Addable<Bytes, std::int64_t>);
static_assert(!std::is_convertible_v<double, Seconds> && !std::is_convertible_v<Seconds, double>);
static_assert(sizeof(Bytes) == sizeof(std::int64_t) && std::is_trivially_copyable_v<Bytes>);

}  // namespace

TEST_CASE("Quantities of one unit add, scale, compare and divide into a ratio") {
  CHECK(Bytes(3) + Bytes(4) == Bytes(7));
  CHECK(2 * Bytes(3) - Bytes(1) == Bytes(5));
  CHECK(Bytes(2) < Bytes(3));
  CHECK(Bytes(1) / Bytes(4) == 0.25);
  CHECK(Bytes(9) / 2 == Bytes(4));
}

TEST_CASE("Work over a rate is a time") {
  CHECK((Bytes(100) / BytesPerSecond(50)).value() == 2);
  CHECK((Flops(1e12) / FlopsPerSecond(1e15)).value() == Approx(1e-3));
}

TEST_CASE("Products and sums beyond 64 bits are refused by name") {
  CHECK(checked_multiply(kMax, 1, "weights") == kMax);
  CHECK(checked_multiply(1LL << 31, 1LL << 31, "weights") == 1LL << 62);
  CHECK_THAT(message_of([] { (void)checked_multiply(1LL << 32, 1LL << 31, "weights"); }),
             contains_text("weights: is too large to count in 64 bits"));
  CHECK(checked_add(kMax - 1, 1, "cache") == kMax);
  CHECK_THAT(message_of([] { (void)checked_add(kMax, 1, "cache"); }), contains_text("cache: is too large"));
  CHECK_FALSE(message_of([] { (void)checked_multiply(-kMax, 2, "x"); }).empty());
}

TEST_CASE("Division rounds up, at the largest counts too") {
  CHECK(ceil_div(0, 7) == 0);
  CHECK(ceil_div(7, 7) == 1);
  CHECK(ceil_div(8, 7) == 2);
  CHECK(ceil_div(kMax, 2) == (1LL << 62));
  CHECK(ceil_div(kMax, kMax) == 1);
}

}  // namespace shardplan
