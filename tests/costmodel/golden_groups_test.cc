// Worked examples of groups, pipeline stages, parameters and links.
#include <map>
#include <nlohmann/json.hpp>

#include "costmodel/lowering/registry.h"
#include "models/catalog.h"
#include "tests/costmodel/golden_case.h"
#include "tests/costmodel/made_models.h"
#include "tests/costmodel/setup.h"

namespace shardplan {
namespace {

Json groups(const Strategy& strategy, const DigitList& axis) { return strategy.mesh.groups(DigitSet(axis)); }

Strategy strategy_of(const std::string& model, const ParallelConfig& config, StepForm form = StepForm::kMixed) {
  return build_strategy(load_model(model), config, form);
}

TEST_CASE("Context parallelism and attention data parallelism have the same groups across TP 4") {
  const GoldenCase golden("cp-vs-dpa-groups");
  const Json tp = golden.list("tp_groups", "[[0, 1, 2, 3], [4, 5, 6, 7]]");
  const Json cp = golden.list("cp_groups", "[[0, 4], [1, 5], [2, 6], [3, 7]]");
  const Strategy pcp = strategy_of("llama-3.1-8b", {.pcp = 2, .tp = 4}, StepForm::kPrefill);
  CHECK(groups(pcp, pcp.axes.tp) == tp);
  CHECK(groups(pcp, pcp.axes.pcp) == cp);
  const Strategy dpa = strategy_of("llama-3.1-8b", {.dpa = 2, .tp = 4});
  CHECK(groups(dpa, dpa.axes.tp) == tp);
  CHECK(groups(dpa, dpa.axes.dpa) == cp);
}

TEST_CASE("DCP 2 pairs neighbours of TP 8") {
  const Strategy strategy = strategy_of("llama-3.1-8b", {.tp = 8, .dcp = 2});
  CHECK(groups(strategy, strategy.axes.cp) ==
        GoldenCase("dcp-groups").list("dcp_groups", "[[0, 1], [2, 3], [4, 5], [6, 7]]"));
}

TEST_CASE("A 2 x 2 grid of MoE-TP and EP has MoE-TP inside") {
  const GoldenCase golden("moe-2x2-grid");
  const Strategy strategy = strategy_of("mixtral-8x7b", {.tp = 4, .moe_tp = 2, .ep = 2});
  CHECK(groups(strategy, strategy.axes.moe_tp) == golden.list("moe_tp_groups", "[[0, 1], [2, 3]]"));
  CHECK(groups(strategy, strategy.axes.ep) == golden.list("ep_groups", "[[0, 2], [1, 3]]"));
}

TEST_CASE("60 layers on 3 stages are 20 each, embedding on the first and head on the last") {
  const GoldenCase golden("pp-60-3");
  const ModelSpec model = made_model({.layers = 60, .attention = grouped_attention(8, 4, 8), .ffn = dense_ffn(64)});
  const auto stages = stage_layers(model, even_layer_split(60, 3));
  Json layers = Json::array();
  for (const StageLayers& stage : stages) layers.push_back(stage.count);
  CHECK(layers == golden.list("layers", "[20, 20, 20]"));
  for (std::int64_t s = 0; s < 3; ++s) {
    CHECK(stages[static_cast<std::size_t>(s)].is_first == (s == golden.count("embedding_stage", 0)));
    CHECK(stages[static_cast<std::size_t>(s)].is_last == (s == golden.count("head_stage", 2)));
  }
}

// Elements of all weights of a graph, unsharded.
double elements(const StepGraph& graph) {
  double total = 0;
  for (const Value& value : graph.values) {
    const Tensor& tensor = graph.logical.tensor(value.tensor);
    if (tensor.lifetime != Lifetime::kWeight) continue;
    double product = 1;
    for (const DimExtent& dim : tensor.dims) product *= static_cast<double>(dim.extent);
    total += product;
  }
  return total;
}

TEST_CASE("The weights in the step graphs of published models add up to their parameters") {
  const std::map<std::string, double> published{
      {"llama-3.1-8b", 8030261248},      {"llama-3.1-70b", 70553706496},
      {"llama-3.1-405b", 405853388800},  {"qwen3-8b", 8190735360},
      {"qwen3-32b", 32762123264},        {"qwen3-30b-a3b", 30532110336},
      {"qwen3-235b-a22b", 235093610496}, {"qwen3-coder-480b-a35b", 480154859520},
      {"mixtral-8x7b", 46702792704},     {"deepseek-v3", 671026419200}};
  const GoldenCase golden("parameters", 0.005);
  for (const auto& [name, parameters] : published) {
    INFO(name);
    const ModelSpec model = load_model(name);
    const LoweredModel lowered = lower_model(model, {}, default_formats(model));
    const StageGraphs& graphs = lowered.forms.front();
    double total = elements(graphs.embedding) + elements(graphs.head);
    for (std::size_t k = 0; k < graphs.layers.size(); ++k) {
      total += elements(graphs.layers[k]) * static_cast<double>(model.layers_of_kind(static_cast<int>(k)));
    }
    CHECK(total == golden.near(name, parameters));
    CHECK(static_cast<double>(count_parameters(model).total()) == golden.near(name, parameters));
  }
}

TEST_CASE("Hosts have PCIe of 64 GB/s and adapters of 50 GB/s, one direction") {
  const HardwareProfile h200 = load_hardware("h200-sxm");
  CHECK(h200.node.pcie.bandwidth.value() == GoldenCase("pcie-gen5-x16").near("bytes_per_s_per_direction", 64e9));
  CHECK(h200.node.nic.bandwidth.value() == GoldenCase("ib-ndr-400").near("bytes_per_s_per_direction", 50e9));
}

}  // namespace
}  // namespace shardplan
