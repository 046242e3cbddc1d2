// The cost graphs of every catalog model against its counts: weights, FLOPs, cache and state come out of the graph as
// they come out of the config. What has no graph is refused by name.
#include <algorithm>
#include <string>
#include <vector>

#include "costmodel/lower.h"
#include "costmodel/lowered_model.h"
#include "costmodel/traffic.h"
#include "costmodel/work.h"
#include "models/catalog.h"
#include "tests/catch.h"

namespace shardplan {
namespace {

constexpr double kContext = 8192;
constexpr BatchShape kOneToken{.decode_sequences = 1, .decode_context = kContext};

double flops_of(const StepGraph& graph) {
  double flops = 0;
  for (const Node& node : graph.nodes) {
    if (!computes(node.kind)) continue;
    const WorkForm form = work_form(graph, node);
    for (const WorkTerm& term : form.terms) flops += term.flops * evaluate(term.symbol, kOneToken);
    if (form.grouped) flops += form.flops_per_row * static_cast<double>(graph.op_of(node).experts.per_token);
  }
  return flops;
}

struct Held {
  double weights = 0;
  double cache = 0;  // per token
  double state = 0;  // per request
};

Held held_by(const StepGraph& graph) {
  Held held;
  std::vector<std::string> seen;
  for (const Value& value : graph.values) {
    const Tensor& tensor = graph.logical.tensor(value.tensor);
    if (tensor.lifetime == Lifetime::kWeight) held.weights += held_weight_bytes(graph, tensor, value.placement);
    if (tensor.lifetime != Lifetime::kCache || std::find(seen.begin(), seen.end(), tensor.name) != seen.end()) continue;
    seen.emplace_back(tensor.name);
    if (seen.back() == "cache_window") continue;  // constant once it is full: not counted per token
    const double bytes = static_cast<double>(fixed_elements(graph, tensor, value.placement)) * element_bytes(tensor);
    (tensor.has(Dim::kRequests) ? held.state : held.cache) += bytes;
  }
  return held;
}

GraphFormats formats_of(const ModelSpec& model) { return {find_format("bf16"), model.kv_format, nullptr}; }

TEST_CASE("The graphs of every catalog model hold and do what its config says") {
  for (const CatalogEntry& entry : model_catalog()) {
    ModelSpec model = load_model(entry.name);
    INFO(entry.name);
    model.kv_format = find_format(model.kinds.front().attention.index.heads > 0 ? "fp8" : "bf16");
    const LoweredModel lowered = lower_model(model, {}, formats_of(model));
    const StageGraphs& graphs = lowered.forms.front();
    double flops = flops_of(graphs.head);
    Held held = held_by(graphs.embedding);
    held.weights += model.tied_embeddings ? 0 : held_by(graphs.head).weights;
    for (std::size_t k = 0; k < graphs.layers.size(); ++k) {
      const auto layers = static_cast<double>(model.layers_of_kind(static_cast<int>(k)));
      const Held layer = held_by(graphs.layers[k]);
      flops += flops_of(graphs.layers[k]) * layers;
      held.weights += layer.weights * layers;
      held.cache += layer.cache * layers;
      held.state += layer.state * layers;
    }
    CHECK(flops == Approx(flops_per_token(model, kContext)).epsilon(1e-3));
    CHECK(held.weights == Approx(static_cast<double>(weight_bytes(model).value())).epsilon(1e-4));
    CHECK(held.cache ==
          Approx(static_cast<double>(cache_bytes_per_token(model, *model.kv_format).value())).epsilon(1e-6));
    CHECK(held.state == Approx(static_cast<double>(state_bytes_per_request(model).value())).epsilon(1e-9));
  }
}

const Node& node_of(const StepGraph& graph, NodeKind kind, std::string_view tensor) {
  for (const Node& node : graph.nodes) {
    if (node.kind == kind && !node.inputs.empty() && graph.tensor_of(node.inputs[0]).name == tensor) return node;
  }
  throw InternalError("no such node");
}

// DSA over dcp ranks: each names its 2048 best of its positions, 8 bytes each, and all names are gathered.
TEST_CASE("An indexer over positions of several ranks gathers the names of each rank's best") {
  const ModelSpec model = load_model("glm-5.2");
  const BatchShape shape{.decode_sequences = 16, .decode_context = 65536};
  const auto decode_layer = [&](const LoweredModel& lowered) { return lowered.serving(Phase::kDecode).layers.front(); };
  const StepGraph one = decode_layer(lower_model(model, {.tp = 8, .ep = 8}, formats_of(model)));
  const StepGraph four = decode_layer(lower_model(model, {.tp = 8, .dcp = 4, .ep = 8}, formats_of(model)));
  const Node& gather = node_of(four, NodeKind::kAllGather, "index_candidates");
  CHECK(sent_bytes(four, gather, RaggedBatch::from(shape)) == 3 * 16 * 2048 * 8);
  const auto flops_of_op = [&](const StepGraph& graph, OpKind kind) {
    double flops = 0;
    for (const Node& node : graph.nodes) {
      if (node.kind != NodeKind::kCompute || graph.op_of(node).kind != kind) continue;
      for (const WorkTerm& term : work_form(graph, node).terms) flops += term.flops * evaluate(term.symbol, shape);
    }
    return flops;
  };
  for (const OpKind kind : {OpKind::kIndex, OpKind::kAttention}) {
    INFO(op_name(kind));
    const double heads = kind == OpKind::kAttention ? 4 : 1;   // of the group, on each rank
    CHECK(flops_of_op(four, kind) == Approx(flops_of_op(one, kind) * heads / 4));
  }
}

}  // namespace
}  // namespace shardplan
