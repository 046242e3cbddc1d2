#include "base/quantile.h"

#include "tests/catch.h"

namespace shardplan {
namespace {

TEST_CASE("A quantile lies between its neighbours") {
  CHECK(quantile({}, 0.5) == 0);
  CHECK(quantile({7}, 0.9) == 7);
  CHECK(quantile({4, 1, 3, 2}, 0) == 1);
  CHECK(quantile({4, 1, 3, 2}, 1) == 4);
  CHECK(quantile({4, 1, 3, 2}, 0.5) == Approx(2.5));
  CHECK(quantile({30, 10, 20}, 0.5) == Approx(20));
  CHECK(quantile({30, 10, 20}, 0.9) == Approx(28));
  CHECK(quantile({1, 1, 1, 5}, 0.25) == 1);
}

}  // namespace
}  // namespace shardplan
