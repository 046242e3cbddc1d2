// The one line that bad input gets.
#include "base/errors.h"

#include "tests/catch.h"

namespace shardplan {

TEST_CASE("A message says where, what, and what would be right") {
  CHECK(std::string(InputError("--tp", "is 3", "a power of two").what()) == "--tp: is 3; expected a power of two");
  CHECK(std::string(InputError("--tp", "is 3", "").what()) == "--tp: is 3");
}

TEST_CASE("An assertion that fails is our own fault") {
  CHECK_NOTHROW(ensure(true, "fine"));
  CHECK_THROWS_AS(ensure(false, "broken"), InternalError);
}

}  // namespace shardplan
