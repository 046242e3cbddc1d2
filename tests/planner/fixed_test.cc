#include "planner/search/fixed.h"

#include "planner/search/enumerate.h"
#include "tests/catch.h"
#include "tests/planner/requests.h"

namespace shardplan {
namespace {

TEST_CASE("A fixed degree is the only one that is tried") {
  PlanRequest request = request_for({.model = "qwen3-235b-a22b", .gpus = 8});
  fix(request, degrees(4), {"tp"});
  const auto tables = enumerate_tables(request);
  REQUIRE(!tables.empty());
  for (const ParallelConfig& table : tables) CHECK(table.tp == 4);
  fix(request, degrees(1, 2), {"pp"});
  CHECK(pipeline_depths(request, 4) == std::vector<std::int64_t>{2});
  CHECK(pipeline_depths(request, 8).empty());
}

TEST_CASE("A fixed variant holds where it means something") {
  PlanRequest request = request_for({.model = "deepseek-v3", .gpus = 8});
  ParallelConfig given;
  given.variant.dcp_comm = DcpComm::kA2a;
  given.variant.pcp_layout = PcpLayout::kStriped;
  fix(request, given, {"dcp_comm", "pcp_layout"});
  bool split = false, whole = false, prompts = false;
  for (const ParallelConfig& table : enumerate_tables(request)) {
    if (table.dcp > 1 && table.pcp == 1 && !table.variant.helix) {
      CHECK(table.variant.dcp_comm == DcpComm::kA2a);
      split = true;
    }
    if (table.pcp > 1) {
      CHECK(table.variant.pcp_layout == PcpLayout::kStriped);
      prompts = true;
    }
    whole = whole || table.dcp == 1;
  }
  CHECK(split);
  CHECK(whole);
  CHECK(prompts);
}

TEST_CASE("What no search varies is copied into every table") {
  PlanRequest request = request_for({.model = "deepseek-v3", .gpus = 8});
  ParallelConfig given;
  given.variant.redundant_experts = 32;
  given.dense_tp = 1;
  fix(request, given, {"redundant_experts", "dense_tp"});
  for (const ParallelConfig& table : enumerate_tables(request)) {
    CHECK(table.variant.redundant_experts == 32);
    CHECK(table.dense_tp == 1);
  }
}

TEST_CASE("A plan keeps every fixed degree and an impossible one leaves no plan") {
  PlanRequest request = request_for({.gpus = 8, .engine = "vllm", .concurrency = 32});
  ParallelConfig given = degrees(2);
  given.replicas = 3;
  fix(request, given, {"tp", "replicas"});
  const PlanResult result = search_plans(request);
  REQUIRE(!result.plans.empty());
  CHECK(result.plans.front().config.tp == 2);
  CHECK(result.plans.front().config.replicas == 3);
  given.replicas = 5;
  fix(request, given, {"tp", "replicas"});
  CHECK(search_plans(request).plans.empty());
}

}  // namespace
}  // namespace shardplan
