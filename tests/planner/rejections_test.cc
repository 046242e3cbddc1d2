#include "planner/search/rejections.h"

#include "tests/catch.h"
#include "tests/planner/requests.h"

namespace shardplan {
namespace {

TEST_CASE("A family is named by the degrees it uses") {
  CHECK(family_of({}) == "1 GPU");
  CHECK(family_of(degrees(8, 2)) == "pp+tp");
  ParallelConfig helix = degrees(8, 1, 1, 2);
  helix.variant.helix = true;
  CHECK(family_of(helix) == "tp+helix");
  CHECK(family_of(moe_degrees(2, 4, true)) == "dpa+tp+ep");
}

TEST_CASE("A family is shown by its nearest miss, whatever the order of merging") {
  const auto say = [](const char* text) { return [text] { return Refusal{text, ""}; }; };
  RejectionTally a, b;
  a.add(degrees(2), "memory", 0.5, say("far"));
  a.add(degrees(4), "memory", 0.1, say("near"));
  a.add(degrees(8), "memory", 0.1, say("as near, later"));
  b.add(degrees(16), "memory", 0.05, say("nearest"));
  a.merge(b);
  const auto rows = a.rows();
  REQUIRE(rows.size() == 1);
  CHECK(rows.front().count == 4);
  CHECK(rows.front().message == "nearest");
  CHECK(a.nearest("memory").miss == Approx(0.05));
  CHECK(a.nearest("tpot").rejection == nullptr);
}

TEST_CASE("Every refused family has a rule, a message and a count, and the counts add up") {
  const PlanRequest request = request_for({.model = "qwen3-30b-a3b", .gpus = 4, .engine = "vllm"});
  const PlanResult result = search_plans(request);
  std::int64_t refused = 0;
  for (const Rejection& rejection : result.rejected) {
    INFO(rejection.family << " " << rejection.rule);
    CHECK(!rejection.family.empty());
    CHECK(!rejection.rule.empty());
    CHECK(!rejection.message.empty());
    CHECK(rejection.count >= 1);
    refused += rejection.count;
  }
  CHECK(refused + static_cast<std::int64_t>(result.plans.size()) == result.stats.considered);
}

}  // namespace
}  // namespace shardplan
