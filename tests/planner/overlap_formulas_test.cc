// Worked examples of the closed forms for pipelines in flight and for HOP-B.
#include "planner/serving.h"
#include "tests/costmodel/golden_case.h"

namespace shardplan {
namespace {

TEST_CASE("Pipeline stages of these times pass 6.65 batches in the time of one") {
  // Many batches in flight: the slowest stage sets the cycle, 25.954/3.901.
  const GoldenCase golden("pp-cycle", 0.001);
  const std::vector<double> milliseconds{3.153, 3.15, 3.15, 3.15, 3.15, 3.15, 3.15, 3.901};
  std::vector<Seconds> stages;
  for (const double ms : milliseconds) stages.emplace_back(ms * kMilli);
  const Seconds alone = pipeline_cycle(stages, Seconds(0), 1);
  CHECK(alone.value() == Approx(25.954e-3));
  CHECK(alone / pipeline_cycle(stages, Seconds(0), 8) == golden.near("speedup", 6.653));
}

TEST_CASE("A cycle with few batches in flight is the whole way round divided among them") {
  // max(max t, (sum t + hops)/m).
  const std::vector<Seconds> stages{Seconds(1), Seconds(2), Seconds(3)};
  CHECK(pipeline_cycle(stages, Seconds(2), 1) == Seconds(8));
  CHECK(pipeline_cycle(stages, Seconds(2), 2) == Seconds(4));
  CHECK(pipeline_cycle(stages, Seconds(2), 4) == Seconds(3));
}

TEST_CASE("HOP-B brings eight parts from 25.6 to 17.2") {
  const GoldenCase golden("hop-b");
  CHECK(8 * (2.0 + 1.2) == golden.near("off", 25.6));
  CHECK(overlapped_parts(8, Seconds(2.0), Seconds(1.2)).value() == golden.near("on", 17.2));
  CHECK(overlapped_parts(8, Seconds(1.2), Seconds(2.0)).value() == golden.near("on", 17.2));
}

}  // namespace
}  // namespace shardplan
