#include "tests/base/message_of.h"
#include "tests/catch.h"
#include "tests/planner/requests.h"

namespace shardplan {
namespace {

TEST_CASE("An illegal configuration is told and priced as far as it has a table") {
  const PlanRequest request = request_for({.model = "llama-3.1-70b", .gpus = 8, .engine = "vllm"});
  const EstimateResult engine = estimate_config(request, degrees(4, 1, 2), {});
  REQUIRE(engine.violations.size() == 1);
  CHECK(engine.violations.front().rule == "vllm_dense_dp");
  CHECK(engine.lowered);  // the algebra can do it, the engine cannot
  CHECK(engine.decode.time.seconds.value() > 0);
  const EstimateResult algebra = estimate_config(request, degrees(3), {});
  CHECK(!algebra.violations.empty());
  CHECK(!algebra.lowered);
}

TEST_CASE("A configuration that does not fit says so and is priced") {
  const PlanRequest request = request_for({.model = "llama-3.1-405b", .hardware = "h100-sxm", .gpus = 8});
  const EstimateResult result = estimate_config(request, degrees(8), {});
  CHECK(result.violations.empty());
  CHECK(!result.plan.ledger.fits);
  CHECK(!result.plan.ledger.misfit.empty());
  CHECK(!result.plan.meets_targets);
  CHECK(result.decode.time.seconds.value() > 0);
}

TEST_CASE("Bare steps are priced as asked") {
  const PlanRequest request = request_for({.model = "qwen3-8b", .gpus = 1});
  BareSteps bare;
  bare.given = true;
  bare.decode.decode_sequences = 16;
  bare.decode.decode_context = 4096;
  const EstimateResult one = estimate_config(request, {}, bare);
  bare.decode.decode_sequences = 64;
  const EstimateResult four = estimate_config(request, {}, bare);
  CHECK(one.prefill.ops.empty());
  CHECK(four.decode.time.seconds > one.decode.time.seconds);
}

TEST_CASE("A context beyond the model's positions is a note") {
  const PlanRequest request = request_for({.model = "qwen3-8b", .gpus = 1, .isl = 100000});
  const EstimateResult result = estimate_config(request, {}, {});
  REQUIRE(!result.notes.empty());
  CHECK_THAT(result.notes.back(), contains_text("positions"));
}

}  // namespace
}  // namespace shardplan
