// Two runs held against each other: what counts as an error, and where errors say nothing.
#include "calibrate/compare.h"

#include <cmath>
#include <limits>

#include "calibrate/small_models.h"
#include "costmodel/lower.h"
#include "costmodel/lowering/registry.h"
#include "tests/catch.h"

namespace shardplan {
namespace {

// A layer on one rank, run once.
struct OneRun {
  StepGraph graph;
  RunResult run;

  OneRun() {
    const ModelSpec model = small_dense();
    const NumberFormat* bf16 = find_format("bf16");
    const StepForm form = StepForm::kDecode;
    graph = lower(layer_graph(model, model.kinds[0], form, {bf16, bf16, nullptr}), build_strategy(model, {}, form), form);
    Executor executor(1, 1, {.seed = 5, .invent_prefix = true});
    run = executor.run({{{{&graph, 0}}}}, decode_batch({7, 1, 12}));
  }
  [[nodiscard]] const GraphResult& result() const { return run.graphs[0]; }
  [[nodiscard]] TensorId residual() const { return graph.value(graph.residual_out).tensor; }
  // The same run with another first number of the residual stream.
  [[nodiscard]] GraphResult with(float number) const {
    GraphResult changed = result();
    changed.values[0][static_cast<std::size_t>(graph.residual_out)].values.front() = number;
    return changed;
  }
};

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

TEST_CASE("a number that is none never holds, whatever is allowed") {
  const OneRun one;
  CHECK(compare(one.result(), one.result(), {1e-6}).worst_share_ratio == 0);
  for (const float number : {kNan, std::numeric_limits<float>::infinity()}) {
    for (const double allowed : {1e-6, 0.4, 10.0, std::numeric_limits<double>::infinity()}) {
      const Comparison comparison = compare(one.with(number), one.result(), {1e-6, {{one.residual(), allowed}}});
      CHECK(comparison.worst_share_ratio == std::numeric_limits<double>::infinity());
      CHECK_FALSE(comparison.worst_tensor.empty());
    }
    CHECK(std::isinf(tensor_errors(one.with(number), one.result()).at(one.residual())));
  }
}

TEST_CASE("what may be off by more than half is counted, not held") {
  const OneRun one;
  const GraphResult changed = one.with(1e6F);
  const Comparison held = compare(changed, one.result(), {1e-6, {{one.residual(), kMostAllowed}}});
  CHECK(held.worst_share_ratio > 1);
  CHECK(held.unheld == 0);
  const Comparison loose = compare(changed, one.result(), {1e-6, {{one.residual(), 1.01 * kMostAllowed}}});
  CHECK(loose.worst_share_ratio == 0);
  CHECK(loose.unheld == 1);
  CHECK(loose.values + loose.partials == held.values + held.partials);
}

}  // namespace
}  // namespace shardplan
