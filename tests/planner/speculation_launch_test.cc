// Launch files of plans that draft: what each engine is told, and what comes back.
#include "planner/export/check_launch.h"
#include "planner/export/launch.h"
#include "tests/catch.h"
#include "tests/planner/launch_cases.h"
#include "tests/planner/requests.h"

namespace shardplan {
namespace {

ParallelConfig drafting(std::int64_t drafts, ParallelConfig config) {
  config.variant.speculative_tokens = drafts;
  return config;
}

// Plan to files, files to plan.
TEST_CASE("Launch files draft as the plan does, for each engine") {
  for (const char* engine : {"vllm", "sglang", "trtllm", "rtp-llm"}) {
    INFO(engine);
    const PlanRequest request = request_for({.model = "deepseek-v3", .engine = engine});
    const ParallelConfig config = request.engine->settled(request.model, drafting(2, moe_degrees(1, 8, true)));
    const Launch launch = export_plan(request, made_plan(request, config), engine);
    REQUIRE(launch.refused.empty());
    CHECK(faults_of(request, launch) == std::vector<std::string>{});
    const ParallelConfig back =
        require_exporter(engine).read(read_launch(require_exporter(engine), launch.files), request.model);
    CHECK(back.variant.speculative_tokens == 2);
    const ParallelConfig plain = request.engine->settled(request.model, moe_degrees(1, 8, true));
    const Launch without = export_plan(request, made_plan(request, plain), engine);
    CHECK(require_exporter(engine)
              .read(read_launch(require_exporter(engine), without.files), request.model)
              .variant.speculative_tokens == 0);
  }
}

TEST_CASE("What contradicts in an engine's flags of speculation is told") {
  const PlanRequest request = request_for({.model = "deepseek-v3", .engine = "sglang"});
  const Launch launch = export_plan(request, made_plan(request, drafting(2, moe_degrees(1, 8, true))), "sglang");
  CHECK_FALSE(faults_of(request, edited(launch, "--speculative-num-draft-tokens 3", "--speculative-num-draft-tokens 4"))
                  .empty());
  CHECK_FALSE(
      faults_of(request, edited(launch, "--speculative-algorithm EAGLE", "--speculative-algorithm MEDUSA")).empty());
}

}  // namespace
}  // namespace shardplan
