// Elastic expert parallelism: what a change of ranks costs, whose engine does it, what requests meet meanwhile.
#include "planner/elastic.h"

#include <algorithm>

#include "planner/deployment.h"
#include "planner/simulate.h"
#include "tests/base/message_of.h"
#include "tests/catch.h"
#include "tests/planner/launch_cases.h"
#include "tests/planner/requests.h"

namespace shardplan {
namespace {

ParallelConfig elastic(std::int64_t groups) {
  ParallelConfig config = moe_degrees(1, groups, true);
  config.variant.moe_comm = MoeComm::kAllToAll;
  config.variant.elastic_ep = true;
  return config;
}

PlanRequest question(const char* engine = "") {
  PlanRequest request = request_for({.model = "qwen3-235b-a22b", .gpus = 16, .engine = engine, .isl = 512, .osl = 128});
  request.workload.concurrency = 256;
  return request;
}

double workspace_of(const Ledger& ledger, const std::string& owner) {
  for (const LedgerItem& item : ledger.stages.front().workspace) {
    if (item.owner == owner) return static_cast<double>(item.bytes.value());
  }
  return 0;
}

// Qwen3-235B-A22B: 94 layers of 128 experts of 3 x 4096 x 1536 in bf16, 37,748,736 bytes each.
constexpr double kExpert = 3.0 * 4096 * 1536 * 2;

TEST_CASE("Eight ranks to sixteen: new ranks take what is no expert, half of the experts find another place") {
  const PlanRequest request = question();
  const ScaleCost cost = scale_cost(request, elastic(8), elastic(16), 100);
  // 8 of 128 experts a rank; only rank 0 keeps its own.
  CHECK(cost.expert_rank_bytes == Approx(94 * 8 * kExpert));
  CHECK(cost.expert_bytes == Approx(15 * 94 * 8 * kExpert));
  const Cluster cluster(request, 16);
  const Deployment after(request, elastic(16), {}, cluster.collectives());
  double others = 0;
  for (const LedgerItem& item : after.ledger().stages.front().weights) {
    if (item.owner != "experts" && item.owner != "rotary tables") others += static_cast<double>(item.bytes.value());
  }
  CHECK(cost.copied_rank_bytes == Approx(others).epsilon(1e-3));
  CHECK(cost.copied_bytes == Approx(8 * cost.copied_rank_bytes));
  CHECK(cost.lost_groups == 0);
  CHECK(cost.prepare.value() > cost.copied_rank_bytes / request.hardware.node.scale_up.bandwidth.value());
  CHECK(cost.pause() == cost.reshuffle + kSwitchSeconds);
  CHECK(cost.fits);
}

TEST_CASE("Sixteen ranks to eight: nothing but experts moves, and half of the requests are lost") {
  const ScaleCost cost = scale_cost(question(), elastic(16), elastic(8), 100);
  CHECK(cost.copied_bytes == 0);
  CHECK(cost.prepare == Seconds(0));
  // Rank 0 had 8 of its 16 experts, all others none of theirs.
  CHECK(cost.expert_bytes == Approx((8 + 7 * 16) * 94 * kExpert));
  CHECK(cost.lost_groups == 8);
  CHECK(cost.lost_requests == Approx(50));
}

TEST_CASE("Fewer ranks: those that stay take wider slices of dense and shared FFNs while nothing is served") {
  PlanRequest request = request_for({.model = "deepseek-v3", .gpus = 16, .engine = "", .isl = 512, .osl = 128});
  request.workload.concurrency = 64;
  ParallelConfig wide = elastic(16);
  wide.dense_tp = 16;
  const ScaleCost cost = scale_cost(request, wide, scaled_config(request, wide, 8), 0);
  // Three dense layers of 3 x 7168 x 18432 in fp8 with their scales: of its eighth, only rank 0 has a half.
  const double dense = 3 * 3.0 * 7168 * 18432;
  CHECK(cost.resliced_bytes == Approx(dense * 15 / 16).epsilon(0.01));
  CHECK(cost.copied_bytes == 0);
  CHECK(cost.prepare == Seconds(0));
  CHECK(cost.reslice > Seconds(0));
  CHECK(cost.pause() == cost.reshuffle + cost.reslice + kSwitchSeconds);
  const ScaleCost up = scale_cost(request, scaled_config(request, wide, 8), wide, 0);
  CHECK(up.resliced_bytes > 0);
  CHECK(up.copied_rank_bytes > 0);
}

TEST_CASE("While it is elastic an instance holds a buffer of one layer's experts and a second set of communicators") {
  const PlanRequest request = question();
  const Cluster cluster(request, 8);
  ParallelConfig fixed = elastic(8);
  fixed.variant.elastic_ep = false;
  const Deployment with(request, elastic(8), {}, cluster.collectives());
  const Deployment without(request, fixed, {}, cluster.collectives());
  CHECK(workspace_of(with.ledger(), kElasticStaging) == Approx(16 * kExpert));
  CHECK(workspace_of(with.ledger(), "standby communicators") == workspace_of(with.ledger(), "communicators"));
  CHECK(workspace_of(without.ledger(), kElasticStaging) == 0);
  const double less =
      static_cast<double>((without.ledger().stages[0].kv_pool_bytes - with.ledger().stages[0].kv_pool_bytes).value());
  CHECK(less == Approx(16 * kExpert + workspace_of(with.ledger(), "communicators")));
}

TEST_CASE("An instance is elastic over one set of experts in one stage, and by what its engine can") {
  const auto rule = [](const PlanRequest& request, const ParallelConfig& config) {
    const auto violations = violations_of(request, config);
    return violations.empty() ? std::string() : violations.front().rule;
  };
  ParallelConfig stages = elastic(4);
  stages.pp = 2;
  CHECK(rule(question(), stages) == "elastic_pp");
  ParallelConfig sliced = moe_degrees(1, 8, false);
  sliced.variant.elastic_ep = true;
  CHECK(rule(question(), sliced) == "elastic_needs_ep");
  ParallelConfig pairs = elastic(4);
  pairs.tp = 2;
  pairs.ep = 8;
  CHECK(rule(question("vllm"), pairs).empty());
  CHECK(rule(question("sglang"), pairs) == "sglang_elastic_groups");
  CHECK(rule(question("sglang"), elastic(8)).empty());
  CHECK(rule(question("trtllm"), elastic(8)) == "trtllm_elastic_ep");
  PlanRequest dense = request_for({.model = "llama-3.1-8b"});
  CHECK(rule(dense, {.variant = {.elastic_ep = true}}) == "elastic_ep");
}

TEST_CASE("Launch files say that an instance is elastic, and come back") {
  for (const char* engine : {"vllm", "sglang"}) {
    const PlanRequest request = question(engine);
    const Launch launch = export_plan(request, made_plan(request, elastic(8)));
    CHECK(launch.refused.empty());
    CHECK(faults_of(request, launch) == std::vector<std::string>{});
    const bool vllm = std::string(engine) == "vllm";
    CHECK(launch.command.find(vllm ? "--enable-elastic-ep" : "--elastic-ep-backend mooncake") != std::string::npos);
    CHECK((launch.command.find("--enable-eplb") != std::string::npos) == vllm);
    const Exporter& exporter = require_exporter(engine);
    CHECK(exporter.read(read_launch(exporter, launch.files), request.model) ==
          engine_of(request).settled(request.model, elastic(8)));
  }
}

TEST_CASE("Over several nodes vLLM's elastic instance starts on one of them, under Ray") {
  const PlanRequest request = question("vllm");
  const Launch launch = export_plan(request, made_plan(request, elastic(16)));
  CHECK(launch.refused.empty());
  CHECK(faults_of(request, launch) == std::vector<std::string>{});
  CHECK(launch.files.size() == 1);
  const std::string& script = file_named(launch, ".sh").content;
  for (const char* word : {"NODE=", "--headless", "on every node", "on every one"})
    CHECK(script.find(word) == std::string::npos);
  CHECK(script.find("MASTER_ADDR:?") != std::string::npos);
}

TEST_CASE("Ranks that an instance cannot have are refused with the reason") {
  CHECK(scale_obstacle(question(), elastic(8), 16).empty());
  ParallelConfig pairs = elastic(4);
  pairs.tp = 2;
  pairs.ep = 8;
  CHECK(scale_obstacle(question(), pairs, 7).find("attention groups of 2") != std::string::npos);
  ParallelConfig sliced = elastic(4);
  sliced.moe_tp = 2;
  sliced.ep = 2;
  CHECK(scale_obstacle(question(), sliced, 3).find("divide by 2: attention groups of 1, experts sliced over 2") !=
        std::string::npos);
  CHECK(scale_obstacle(question(), elastic(8), 256).find("128 experts") != std::string::npos);
  CHECK(scale_obstacle(question(), elastic(8), 2).find("weights") != std::string::npos);
  CHECK_FALSE(scale_obstacle(question(), moe_degrees(1, 8, true), 16).empty());
}

TEST_CASE("A plan's rows tell what scaling moves and what it waits for") {
  PlanRequest request = question();
  request.scale_to = {8, 16, 4, 7};
  const EstimateResult result = estimate_config(request, elastic(8), {});
  const auto rows = data_movement(request, result.plan);
  const auto of = [&](const std::string& what, const std::string& per) {
    return std::find_if(rows.begin(), rows.end(),
                        [&](const DataMovement& row) { return row.what == what && row.per == per; });
  };
  REQUIRE(of("experts", "scaling 8 to 16") != rows.end());
  CHECK(of("experts", "scaling 8 to 16")->bytes == Approx(15 * 94 * 8 * kExpert));
  CHECK(of("experts", "scaling 8 to 16")->critical);
  CHECK_FALSE(of("weights but experts", "scaling 8 to 16")->critical);
  CHECK(of("cache of groups that go", "scaling 8 to 16") == rows.end());
  CHECK(of("experts", "scaling 8 to 8") == rows.end());
  CHECK(std::any_of(rows.begin(), rows.end(), [](const DataMovement& row) { return row.per == "scaling 8 to 7"; }));
}

SimulationResult simulated(const std::vector<ScaleAsk>& asks, std::optional<Seconds> drain = std::nullopt,
                           std::int64_t requests = 1500) {
  SimulationSettings settings;
  settings.scales = {.asks = asks, .drain = drain, .fixed = Seconds(2)};
  return simulate_config(question(), elastic(8), {.requests = requests}, settings);
}

TEST_CASE("All requests end whatever the instance does, and more ranks are faster") {
  const SimulationResult plain = simulated({});
  const SimulationResult up = simulated({{.at = Seconds(5), .ranks = 16}});
  const SimulationResult down = simulated({{.at = Seconds(5), .ranks = 16}, {.at = Seconds(15), .ranks = 8}});
  for (const SimulationResult* result : {&plain, &up, &down}) {
    CHECK(result->requests.completed == 1500);
    CHECK(result->output_tokens == 1500 * 128);
  }
  REQUIRE(up.scales.size() == 1);
  const double paused = to_seconds(up.scales[0].resumed - up.scales[0].paused).value();
  CHECK(paused == Approx(2 + scale_cost(question(), elastic(8), elastic(16), 0).reshuffle.value()));
  CHECK(up.itl.max.value() >= paused);
  CHECK(up.simulated < plain.simulated + Seconds(paused));
  REQUIRE(down.scales.size() == 2);
  CHECK(down.scales[1].groups == 8);
  CHECK(down.scales[1].lost > 0);
  const SimulationResult again = simulated({{.at = Seconds(5), .ranks = 16}, {.at = Seconds(15), .ranks = 8}});
  CHECK(again.simulated == down.simulated);
  CHECK(again.e2e.p99 == down.e2e.p99);
  const SimulationResult drained =
      simulated({{.at = Seconds(5), .ranks = 16}, {.at = Seconds(15), .ranks = 8}}, Seconds(60));
  CHECK(drained.requests.completed == 1500);
  for (const ScaleRecord& record : drained.scales) CHECK(record.lost == 0);
}

TEST_CASE("Scaled at once, an instance serves like one that had the ranks from the start") {
  SimulationSettings settings;
  settings.scales = {.asks = {{.at = Seconds(0.01), .ranks = 16}}, .drain = std::nullopt, .fixed = Seconds(0.001)};
  const SimulationResult scaled = simulate_config(question(), elastic(8), {.requests = 3000}, settings);
  const SimulationResult direct = simulate_config(question(), elastic(16), {.requests = 3000}, {});
  CHECK(scaled.tpot.p50.value() == Approx(direct.tpot.p50.value()).epsilon(0.03));
  CHECK(scaled.output_tokens_per_second == Approx(direct.output_tokens_per_second).epsilon(0.05));
}

TEST_CASE("Layouts that do not fit are bad input to a simulation") {
  CHECK(message_of([] { (void)simulated({{.at = Seconds(5), .ranks = 2}}); }).find("--scale: 2 ranks") !=
        std::string::npos);
}

}  // namespace
}  // namespace shardplan
