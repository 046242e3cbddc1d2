// When nothing fits: an empty list, reasons with numbers, and the smallest changes that help.
#include <algorithm>

#include "planner/search/nearest_feasible.h"
#include "tests/base/message_of.h"
#include "tests/catch.h"
#include "tests/planner/requests.h"

namespace shardplan {
namespace {

bool any_contains(const std::vector<std::string>& lines, const std::string& text) {
  return std::any_of(lines.begin(), lines.end(),
                     [&text](const std::string& line) { return line.find(text) != std::string::npos; });
}

TEST_CASE("Flags that no layout agrees with are named") {
  PlanRequest request = request_for({.model = "llama-3.1-8b", .hardware = "h100-sxm", .gpus = 8});
  fix(request,
      [] {
        ParallelConfig c;
        c.ep = 4;
        c.tp = 2;
        return c;
      }(),
      {"tp", "ep"});
  CHECK(search_plans(request).nearest_feasible == std::vector<std::string>{"no --ep: the model has no routed experts"});
  request.fixed_names = {"tp"};
  CHECK(!search_plans(request).plans.empty());
}

// A report against another planner: weights alone exceed 80 GB, yet a TTFT was given.
TEST_CASE("Llama-3.1-405B on one H100 is refused before any time is told") {
  const PlanResult result = search_plans(request_for({.model = "llama-3.1-405b", .hardware = "h100-sxm", .gpus = 1}));
  CHECK(result.plans.empty());
  REQUIRE(!result.rejected.empty());
  CHECK(result.rejected.front().rule == "memory");
  CHECK_THAT(result.rejected.front().message, contains_text("GiB"));
}

TEST_CASE("The nearest change names GPUs and formats that then really fit") {
  PlanRequest request = request_for(
      {.model = "llama-3.1-405b", .hardware = "h100-sxm", .gpus = 8, .engine = "vllm", .isl = 8192, .osl = 1024});
  const PlanResult result = search_plans(request);
  CHECK(result.plans.empty());
  REQUIRE(result.nearest_feasible.size() >= 2);
  CHECK(any_contains(result.nearest_feasible, "more GPU"));
  CHECK(any_contains(result.nearest_feasible, "FP8 weights"));
  override_weight_format(request.model, *find_format("fp8"));
  CHECK(!search_plans(request).plans.empty());
}

TEST_CASE("DeepSeek-R1 in FP8 needs more than 8 H100") {
  const PlanResult result =
      search_plans(request_for({.model = "deepseek-r1", .hardware = "h100-sxm", .gpus = 8, .engine = "vllm"}));
  CHECK(result.plans.empty());
  CHECK(any_contains(result.nearest_feasible, "more GPU"));
}

// issue 17470: 1.3 TB of bf16 weights at TP16 or TP8 PP2 are refused before launch.
TEST_CASE("DeepSeek-R1 in bf16 does not fit 16 H100") {
  PlanRequest request = request_for({.model = "deepseek-r1", .hardware = "h100-sxm", .gpus = 16, .engine = "vllm"});
  override_weight_format(request.model, *find_format("bf16"));
  CHECK(search_plans(request).plans.empty());
}

TEST_CASE("A context beyond the cache is answered with the longest that fits") {
  PlanRequest request = request_for(
      {.model = "llama-3.1-70b", .hardware = "h100-sxm", .gpus = 2, .engine = "vllm", .isl = 120000, .osl = 1000});
  const PlanResult result = search_plans(request);
  CHECK(result.plans.empty());
  CHECK(any_contains(result.nearest_feasible, "max context"));
  const MemoryReach reach = memory_reach(request);
  REQUIRE(reach.context > 0);
  request.workload.isl = reach.context - 1000;
  CHECK(!search_plans(request).plans.empty());
}

TEST_CASE("An unreachable target is answered with the value that is reached") {
  PlanRequest request = request_for({.gpus = 1, .engine = "vllm", .tpot_ms = 1});
  const PlanResult result = search_plans(request);
  CHECK(result.plans.empty());
  REQUIRE(!result.rejected.empty());
  CHECK(result.rejected.front().rule == "tpot");
  REQUIRE(any_contains(result.nearest_feasible, "TPOT"));
}

TEST_CASE("Too much traffic is answered with what the budget carries") {
  PlanRequest request = request_for({.model = "llama-3.1-70b", .gpus = 2, .engine = "vllm"});
  request.workload.requests_per_second = 1000;
  const PlanResult result = search_plans(request);
  CHECK(result.plans.empty());
  CHECK(any_contains(result.nearest_feasible, "requests/s instead of"));
}

// dynamo reports 8571 and 8583: plans of 64 and 50 GPUs for a budget of 32.
TEST_CASE("Nothing in a result ever exceeds the budget") {
  for (const Ask& ask : {Ask{.model = "deepseek-r1", .hardware = "h100-sxm", .gpus = 32, .engine = "vllm"},
                         Ask{.model = "gpt-oss-120b", .gpus = 7}}) {
    const PlanResult result = search_plans(request_for(ask));
    REQUIRE(!result.plans.empty());
    for (const Plan& plan : result.plans) CHECK(plan.config.gpus() <= ask.gpus);
    for (const Plan& plan : result.pareto) CHECK(plan.config.gpus() <= ask.gpus);
  }
}

}  // namespace
}  // namespace shardplan
