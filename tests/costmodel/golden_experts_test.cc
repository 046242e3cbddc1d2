// Worked examples of expert parallelism: who holds which expert, what travels, who waits.
#include <nlohmann/json.hpp>

#include "costmodel/eplb.h"
#include "costmodel/expert_capacity.h"
#include "costmodel/expert_load.h"
#include "costmodel/traffic.h"
#include "models/catalog.h"
#include "tests/costmodel/golden_case.h"
#include "tests/costmodel/held_shards.h"
#include "tests/costmodel/made_models.h"
#include "tests/costmodel/setup.h"

namespace shardplan {
namespace {

// Experts of each rank of a layer of `model`.
std::vector<Indices> experts_by_rank(const ModelSpec& model, const ParallelConfig& config) {
  const LoweredModel lowered = lower_model(model, config, default_formats(model));
  return held_by_rank(lowered.forms.front().layers.front(), "w_up", Dim::kExperts);
}

ModelSpec with_experts(std::int64_t experts, std::int64_t per_token, std::int64_t hidden = 64) {
  return made_model(
      {.hidden = hidden, .attention = grouped_attention(8, 4, 8), .ffn = moe_ffn(experts, per_token, 64)});
}

TEST_CASE("EP 8 gives each rank 16 of Qwen3-235B's 128 experts") {
  const std::int64_t each = GoldenCase("qwen3-235b-ep8").count("experts_per_rank", 16);
  for (const Indices& held : experts_by_rank(load_model("qwen3-235b-a22b"), {.tp = 8, .ep = 8}))
    CHECK(std::ssize(held) == each);
}

TEST_CASE("64 experts over EP 4 start at 0, 16, 32 and 48") {
  Json first = Json::array();
  for (const Indices& held : experts_by_rank(with_experts(64, 2), {.tp = 4, .ep = 4})) first.push_back(held.front());
  CHECK(first == GoldenCase("moe-64-experts").list("first_expert", "[0, 16, 32, 48]"));
}

TEST_CASE("Dispatch regroups six tokens by the ranks of their experts") {
  const auto experts = experts_by_rank(with_experts(64, 1), {.tp = 4, .ep = 4});
  const Indices routes{3, 17, 35, 3, 52, 17};
  Json tokens(4, Json::array());
  for (std::size_t token = 0; token < routes.size(); ++token) {
    for (std::size_t rank = 0; rank < 4; ++rank) {
      if (std::binary_search(experts[rank].begin(), experts[rank].end(), routes[token])) tokens[rank].push_back(token);
    }
  }
  CHECK(tokens == GoldenCase("moe-dispatch-regroup").list("tokens_per_rank", "[[0, 3], [1, 5], [2], [4]]"));
}

TEST_CASE("A token of width 8192 in bf16 travels as 16 KiB") {
  // All of 2 experts per token, one on each rank: every token goes to the one other rank, and one row comes back.
  ParallelConfig config{.tp = 2, .ep = 2};
  config.variant.moe_comm = MoeComm::kAllToAll;
  const ModelSpec model = with_experts(2, 2, 8192);
  const LoweredModel lowered = lower_model(model, config, default_formats(model));
  const StepGraph& layer = lowered.forms.front().layers.front();
  const ExpertLoadModel load({}, 2, 2, 2, 0);
  double row = 0;
  for (const Node& node : layer.nodes) {
    if (node.kind == NodeKind::kCombine) row = traffic_form(layer, node, &load).sent_ratio;
  }
  CHECK(row == GoldenCase("moe-token-bytes").near("bytes", 16384));
}

ExpertLoad histogram(std::vector<double> counts) {
  ExpertLoad load;
  load.kind = ExpertLoad::Kind::kHistogram;
  load.counts = std::move(counts);
  return load;
}

TEST_CASE("Shares of 0.45, 0.15, 0.1 and 0.3 slow the layer 1.8 times") {
  const ExpertLoadModel load(histogram({0.45, 0.15, 0.1, 0.3}), 4, 1, 4, 0);
  CHECK(load.busiest_rows(1000) / load.mean_rows(1000) == GoldenCase("moe-imbalance").near("slowdown", 1.8));
}

TEST_CASE("Three tokens that pick 2 of 8 experts read 4.625 of them") {
  CHECK(ExpertLoadModel({}, 8, 2, 1, 0).busiest_hits(3) == GoldenCase("distinct-experts").near("mean", 4.625));
}

TEST_CASE("A capacity factor of 1.25 gives each expert 40 slots for a mean of 32 tokens") {
  const GoldenCase golden("capacity-factor");
  CHECK(expert_capacity(1024, 2, 64, 1.25) == golden.count("capacity", 40));
  CHECK(ExpertLoadModel({}, 64, 2, 64, 0).mean_rows(1024) == golden.near("mean_tokens_per_expert", 32));
}

TEST_CASE("EPLB brings the busiest of four ranks from 120 to 50 with four spare slots") {
  const GoldenCase golden("eplb-example");
  EplbRequest request{.loads = {120, 40, 20, 20}, .slots = 4, .ranks = 4};
  const auto busiest = [](const EplbPlacement& placement) {
    return *std::max_element(placement.rank_load.begin(), placement.rank_load.end());
  };
  CHECK(busiest(place_experts(request)) == golden.near("busiest_before", 120));
  request.slots = 8;
  const EplbPlacement placed = place_experts(request);
  CHECK(Json(placed.replicas) == golden.list("replicas", "[4, 2, 1, 1]"));
  CHECK(busiest(placed) == golden.near("busiest_after", 50));
}

}  // namespace
}  // namespace shardplan
