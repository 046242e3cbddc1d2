// Golden list of the collectives of expert parallelism, and its dispatch and combine bytes; see
// tensor_parallel_collectives_test.cc for what the lines say.
#include <cmath>

#include "costmodel/traffic.h"
#include "models/catalog.h"
#include "tests/catch.h"
#include "tests/costmodel/made_models.h"
#include "tests/costmodel/setup.h"

namespace shardplan {
namespace {

using Lines = std::vector<std::string>;

constexpr BatchShape kDecode{.decode_sequences = 64, .decode_context = 4096};

// The MoE layer of DeepSeek-V3: D = 7168, 256 experts, 8 per token, one shared.
Lines deepseek(ParallelConfig config, MoeComm comm) {
  config.variant.moe_comm = comm;
  return layer_collectives(load_model("deepseek-v3"), config, kDecode, 1);
}

// Experts of a token over `ranks` ranks: 256 of them, 8 picked without repeats.
double miss_probability(int ranks) {
  double miss = 1;
  for (int i = 0; i < 8; ++i) miss *= (256.0 - 256.0 / ranks - i) / (256.0 - i);
  return miss;
}

TEST_CASE("Replicated experts end in one all-reduce, shared expert included") {
  // 2*(7/8) * 64*7168*2.
  CHECK(deepseek({.tp = 8, .ep = 8}, MoeComm::kReplicated) ==
        Lines{"all_reduce attention_out over 8: 1605632", "all_reduce moe_out over 8: 1605632"});
  CHECK(deepseek({.tp = 8, .moe_tp = 2, .ep = 4}, MoeComm::kReplicated) ==
        Lines{"all_reduce attention_out over 8: 1605632", "all_reduce moe_out over 8: 1605632"});
}

TEST_CASE("All-gathered experts send (EP-1)/EP*T*D*b each way, however many experts a token has") {
  // 7 parts of 8 tokens of 14,336 B; routing 8 pairs of 8 B per token.
  CHECK(deepseek({.tp = 8, .ep = 8}, MoeComm::kAllGather) ==
        Lines{"all_gather attention_in over 8: 802816", "reduce_scatter attention_out over 8: 802816",
              "all_gather ffn_in over 8: 802816", "all_gather routing over 8: 3584",
              "reduce_scatter moe_out over 8: 802816"});
}

TEST_CASE("With attention on each rank alone, only the experts communicate") {
  CHECK(deepseek({.dpa = 8, .ep = 8}, MoeComm::kAllGather) == Lines{"all_gather ffn_in over 8: 802816",
                                                                    "all_gather routing over 8: 3584",
                                                                    "reduce_scatter experts_out over 8: 802816"});
}

TEST_CASE("Dispatch sends a token once to each other rank that holds one of its experts") {
  // 8 local tokens, 7 other ranks, each visited with probability 1 - C(224,8)/C(256,8); a row of 14,336 B, and in
  // dispatch 64 B of routing.
  ParallelConfig config{.dpa = 8, .ep = 8};
  config.variant.moe_comm = MoeComm::kAllToAll;
  const ModelSpec model = load_model("deepseek-v3");
  const LoweredModel lowered = lower_model(model, config, default_formats(model));
  const StepGraph& layer = lowered.forms.front().layers[1];
  const ExpertLoadModel load({}, 256, 8, 8, 0);
  const double visits = 8 * 7 * (1 - miss_probability(8));
  int nodes = 0;
  for (const Node& node : layer.nodes) {
    if (!communicates(node.kind)) continue;
    const TrafficForm form = traffic_form(layer, node, &load);
    const double row = node.kind == NodeKind::kDispatch ? 14336 + 64 : 14336;
    CHECK(form.group_size == 8);
    CHECK(form.sent_ratio * evaluate(form.symbol, kDecode) == Approx(visits * row));
    ++nodes;
  }
  CHECK(nodes == 2);  // dispatch and combine; the shared expert is whole on every rank
  // Not more than without de-duplication: (T/EP)*k*(1-1/EP)*D*b.
  CHECK(visits * 14336 < 8 * 8 * (7.0 / 8) * 14336);
}

TEST_CASE("Dispatch in a narrower format shrinks what goes out, not what comes back") {
  ParallelConfig config{.dpa = 8, .ep = 8};
  config.variant.moe_comm = MoeComm::kAllToAll;
  const ModelSpec model = load_model("deepseek-v3");
  GraphFormats formats = default_formats(model);
  formats.dispatch = find_format("fp8");
  const LoweredModel lowered = lower_model(model, config, formats);
  const Lines lines = collective_lines(lowered.forms.front().layers[1], kDecode, config);
  const Lines wide = deepseek(config, MoeComm::kAllToAll);
  REQUIRE(lines.size() == 2);
  const double visits = 8 * 7 * (1 - miss_probability(8));
  CHECK(std::stod(lines[0].substr(lines[0].find(": ") + 2)) == Approx(visits * (7168 + 64)).epsilon(1e-6));
  CHECK(lines[1] == wide[1]);
}

TEST_CASE("A token visits more ranks the more there are, never more than it has experts") {
  double last = 0;
  for (const int ranks : {1, 2, 4, 8, 16, 32, 64, 128, 256}) {
    const double visited = ExpertLoadModel({}, 256, 8, ranks, 0).distinct_destinations();
    CHECK(visited == Approx(ranks * (1 - miss_probability(ranks))));
    CHECK(visited > last);
    CHECK(visited <= 8 + 1e-9);
    last = visited;
  }
}

TEST_CASE("MoE-TP sends each row to every rank that shares the expert") {
  // EP 4 x MoE-TP 2: 7 others, each visited as its EP rank is, 1 - C(192,8)/C(256,8); 8 local tokens.
  const Lines lines = deepseek({.tp = 8, .moe_tp = 2, .ep = 4}, MoeComm::kAllToAll);
  REQUIRE(lines.size() == 4);
  const double combine = 8 * 7 * (1 - miss_probability(4)) * 14336;
  CHECK(lines[0] == "all_gather attention_in over 8: 802816");
  CHECK(lines[1] == "reduce_scatter attention_out over 8: 802816");
  CHECK(std::stod(lines[3].substr(lines[3].find(": ") + 2)) == Approx(combine).epsilon(1e-6));
}

TEST_CASE("A busier rank receives more in dispatch and sends more in combine") {
  ParallelConfig config{.dpa = 4, .ep = 4};
  config.variant.moe_comm = MoeComm::kAllToAll;
  const ModelSpec model =
      made_model({.hidden = 64, .attention = grouped_attention(4, 4, 16), .ffn = moe_ffn(4, 1, 64)});
  const LoweredModel lowered = lower_model(model, config, default_formats(model));
  const StepGraph& layer = lowered.forms.front().layers.front();
  ExpertLoad skewed;
  skewed.kind = ExpertLoad::Kind::kHistogram;
  skewed.counts = {0.45, 0.15, 0.1, 0.3};  // one expert per rank and token: visits are these shares
  const ExpertLoadModel load(skewed, 4, 1, 4, 0);
  for (const Node& node : layer.nodes) {
    if (!communicates(node.kind)) continue;
    const TrafficForm form = traffic_form(layer, node, &load);
    const bool dispatch = node.kind == NodeKind::kDispatch;
    const double row = dispatch ? 128 + 8 : 128;
    CHECK((dispatch ? form.received_ratio : form.sent_ratio) == Approx(3 * 0.45 * row));
    CHECK((dispatch ? form.sent_ratio : form.received_ratio) == Approx(3 * 0.25 * row));
  }
}

}  // namespace
}  // namespace shardplan
