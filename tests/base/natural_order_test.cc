#include "base/natural_order.h"

#include "tests/catch.h"

namespace shardplan {
namespace {

TEST_CASE("Numbers in names count as numbers") {
  CHECK(natural_less("1.3.0rc10", "1.3.0rc20"));
  CHECK(natural_less("1.3.0rc2", "1.3.0rc10"));
  CHECK(natural_less("decode step, 2 sequences", "decode step, 16 sequences"));
  CHECK_FALSE(natural_less("decode step, 16 sequences", "decode step, 2 sequences"));
  CHECK(natural_less("tp1", "tp1 pp2"));
  CHECK(natural_less("", "a"));
  CHECK_FALSE(natural_less("tp8", "tp8"));
  CHECK(natural_less("x99999999999999999999998", "x99999999999999999999999"));
  CHECK_FALSE(natural_less("x007", "x7"));
  CHECK_FALSE(natural_less("x7", "x007"));
}

}  // namespace
}  // namespace shardplan
