#include "planner/engine.h"
#include "tests/catch.h"

namespace shardplan {
namespace {

using Split = std::vector<std::int64_t>;

// The engine's golden values: base = n/p, one more for each of the `rem` stages before the last.
TEST_CASE("vLLM gives extra layers to the stages before the last") {
  const auto split = require_engine("vllm").layer_split;
  CHECK(split(61, 2) == Split{31, 30});
  CHECK(split(61, 4) == Split{15, 15, 16, 15});
  CHECK(split(61, 8) == Split{7, 7, 8, 8, 8, 8, 8, 7});
  CHECK(split(80, 3) == Split{27, 27, 26});
  CHECK(split(94, 4) == Split{23, 24, 24, 23});
  CHECK(split(94, 8) == Split{11, 12, 12, 12, 12, 12, 12, 11});
  CHECK(split(36, 8) == Split{4, 4, 4, 5, 5, 5, 5, 4});
  CHECK(split(80, 1) == Split{80});
  CHECK(split(80, 80) == Split(80, 1));
}

TEST_CASE("Without an engine the even split gives extras to the first stages") {
  CHECK(require_engine("neutral").layer_split(94, 4) == Split{24, 24, 23, 23});
}

TEST_CASE("Every engine's split holds every layer once and leaves no stage empty") {
  for (const Engine& engine : engines()) {
    for (std::int64_t layers = 1; layers <= 100; ++layers) {
      for (std::int64_t stages = 1; stages <= layers; ++stages) {
        std::int64_t sum = 0;
        for (const std::int64_t part : engine.layer_split(layers, stages)) {
          REQUIRE(part >= 1);
          sum += part;
        }
        REQUIRE(sum == layers);
      }
    }
  }
}

}  // namespace
}  // namespace shardplan
