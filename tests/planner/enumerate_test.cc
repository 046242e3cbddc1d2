#include "planner/search/enumerate.h"

#include <algorithm>
#include <set>

#include "planner/deployment.h"
#include "planner/search/variants.h"
#include "tests/catch.h"
#include "tests/planner/requests.h"

namespace shardplan {
namespace {

const Ask kAsks[] = {
    {.model = "llama-3.1-8b", .gpus = 8},
    {.model = "qwen3-235b-a22b", .gpus = 8},
    {.model = "deepseek-v3", .gpus = 16},
    {.model = "gpt-oss-120b", .gpus = 6},
    {.model = "qwen3-30b-a3b", .gpus = 12, .engine = "vllm"},
};

TEST_CASE("No table uses more GPUs than asked, and no depth does") {
  for (const Ask& ask : kAsks) {
    const PlanRequest request = request_for(ask);
    for (const ParallelConfig& table : enumerate_tables(request)) {
      REQUIRE(table.stage_ranks() <= request.gpus);
      REQUIRE(table.pp == 1);
      for (const std::int64_t pp : pipeline_depths(request, table.stage_ranks()))
        REQUIRE(pp * table.stage_ranks() <= request.gpus);
    }
  }
}

TEST_CASE("Tables are canonical and distinct") {
  for (const Ask& ask : kAsks) {
    const auto tables = enumerate_tables(request_for(ask));
    for (std::size_t i = 0; i < tables.size(); ++i) {
      REQUIRE(canonical(tables[i]) == tables[i]);
      for (std::size_t j = i + 1; j < tables.size(); ++j) REQUIRE(!(tables[i] == tables[j]));
    }
  }
}

TEST_CASE("FFN degrees of a table always make up its stage") {
  for (const Ask& ask : kAsks) {
    const PlanRequest request = request_for(ask);
    for (const ParallelConfig& table : enumerate_tables(request)) {
      REQUIRE(table.moe_tp * table.ep * table.moe_dp == (request.model.is_moe() ? table.stage_ranks() : 1));
    }
  }
}

TEST_CASE("The plain strategies are all there") {
  const auto tables = enumerate_tables(request_for({.model = "qwen3-235b-a22b", .gpus = 8}));
  const auto has = [&tables](const ParallelConfig& wanted) {
    return std::find(tables.begin(), tables.end(), wanted) != tables.end();
  };
  CHECK(has({}));
  for (const std::int64_t tp : {2, 4, 8}) {
    CHECK(has(moe_degrees(tp, 1, true)));
    CHECK(has(moe_degrees(tp, 1, false)));
  }
  CHECK(has(moe_degrees(4, 2, true)));
  CHECK(has(moe_degrees(1, 8, true)));
  ParallelConfig helix = moe_degrees(8, 1, true);
  helix.dcp = 2;
  helix.variant.helix = true;
  CHECK(has(helix));
}

TEST_CASE("Widths are divisors of the query heads") {
  for (const ParallelConfig& table : enumerate_tables(request_for({.model = "qwen3-8b", .gpus = 12})))
    CHECK(32 % table.tp == 0);
}

TEST_CASE("Variants that the degrees make meaningless are not tried") {
  const PlanRequest request = request_for({});
  CHECK(with_variants(request, degrees(4)).size() == 1);
  ParallelConfig odd = degrees(4);
  odd.variant.pcp_comm = PcpComm::kRing;
  odd.variant.dcp_comm = DcpComm::kA2a;
  odd.variant.q_replicate = true;
  CHECK(canonical(odd) == degrees(4));
}

}  // namespace
}  // namespace shardplan
