// The bound never says less than what a deployment reaches.
#include "planner/search/bound.h"

#include "planner/cluster.h"
#include "planner/search/cost.h"
#include "planner/search/enumerate.h"
#include "tests/catch.h"
#include "tests/planner/requests.h"

namespace shardplan {
namespace {

void check_bounds(const Ask& ask, Objective objective, std::size_t step) {
  PlanRequest request = request_for(ask);
  request.objective = objective;
  const Cluster cluster(request, request.gpus);
  const RequestBound bound(request, cluster.collectives());
  const ScreenContext screen{request, bound, weight_parts(request.model)};
  const CostContext context = cost_context(request, cluster.collectives());
  const auto tables = enumerate_tables(request);
  std::size_t compared = 0;
  for (std::size_t i = 0; i < tables.size(); i += step) {
    const ScreenedTable screened = screen_table(screen, tables[i]);
    const TableCost cost = cost_table(context, screened, std::nullopt);
    for (const Costed& found : cost.found) {
      for (const ScreenedDepth& depth : screened.depths) {
        if (depth.config.pp != found.config.pp) continue;
        INFO(short_text(found.config));
        CHECK(depth.bound.score >= found.key.score);
        ++compared;
      }
    }
  }
  CHECK(compared > 10);
}

TEST_CASE("No costed plan beats its bound") {
  check_bounds({.model = "llama-3.1-70b", .gpus = 16}, Objective::kThroughput, 2);
  check_bounds({.model = "qwen3-235b-a22b", .gpus = 16, .isl = 1024, .osl = 1024, .tpot_ms = 60},
               Objective::kThroughput, 7);
  check_bounds({.model = "deepseek-v3", .gpus = 16, .isl = 8192, .osl = 1024, .concurrency = 128},
               Objective::kThroughput, 11);
  check_bounds({.model = "gpt-oss-120b", .hardware = "b200-sxm", .gpus = 8}, Objective::kInteractivity, 3);
  check_bounds({.model = "qwen3-30b-a3b", .hardware = "h100-sxm", .gpus = 8, .isl = 32768, .osl = 128},
               Objective::kLatency, 3);
  check_bounds({.model = "llama-3.1-8b", .hardware = "l40s", .gpus = 8, .concurrency = 32}, Objective::kCost, 1);
}

TEST_CASE("No costed plan beats its bound at the speed of light") {
  PlanRequest request = request_for({.model = "qwen3-30b-a3b", .gpus = 8, .concurrency = 64});
  request.price.mode = PriceMode::kSpeedOfLight;
  const Cluster cluster(request, request.gpus);
  const RequestBound bound(request, cluster.collectives());
  const ScreenContext screen{request, bound, weight_parts(request.model)};
  const CostContext context = cost_context(request, cluster.collectives());
  for (const ParallelConfig& table : enumerate_tables(request)) {
    const ScreenedTable screened = screen_table(screen, table);
    for (const Costed& found : cost_table(context, screened, std::nullopt).found) {
      for (const ScreenedDepth& depth : screened.depths) {
        INFO(short_text(found.config));
        if (depth.config.pp == found.config.pp) CHECK(depth.bound.score >= found.key.score);
      }
    }
  }
}

TEST_CASE("Weights from below never exceed the ledger's") {
  for (const char* model : {"llama-3.1-70b", "deepseek-v3", "qwen3-235b-a22b", "gpt-oss-20b", "qwen3-8b"}) {
    const PlanRequest request = request_for({.model = model, .gpus = 8});
    const Cluster cluster(request, request.gpus);
    const WeightParts parts = weight_parts(request.model);
    for (const ParallelConfig& table : enumerate_tables(request)) {
      if (!violations_of(request, table).empty()) continue;
      try {
        const Deployment deployment(request, table, {}, cluster.collectives());
        INFO(model << " " << short_text(table));
        CHECK(weights_per_gpu_bound(request.model, parts, table) <= deployment.ledger().stages.front().weights_bytes);
      } catch (const LoweringRefusal&) {
        continue;
      }
    }
  }
}

}  // namespace
}  // namespace shardplan
