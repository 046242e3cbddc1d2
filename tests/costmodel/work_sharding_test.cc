// FLOPs over all ranks are the unsharded FLOPs times the redundancy that the placements declare.
#include <rapidcheck.h>

#include <map>
#include <optional>

#include "costmodel/work.h"
#include "tests/catch.h"
#include "tests/costmodel/any_config.h"
#include "tests/costmodel/held_shards.h"
#include "tests/costmodel/made_models.h"
#include "tests/costmodel/setup.h"

namespace shardplan {
namespace {

// A product of a node (by weight), its attention, or its experts: FLOPs of an average rank and how often it is
// repeated.
struct Work {
  double flops = 0;
  double redundancy = 1;
};
using WorkList = std::map<std::pair<std::int32_t, std::size_t>, Work>;  // by (op, term)

double redundancy(const Mesh& mesh, DigitSet splits) {
  return static_cast<double>(mesh.ranks()) / static_cast<double>(mesh.size(splits));
}

// Whole heads beyond the number of heads are repeated too.
double whole_copies(const StepGraph& graph, const Tensor& tensor, const Placement& placement) {
  if (!tensor.has(Dim::kKvHeads)) return 1;
  const std::int64_t parts = graph.mesh.size(placement.digits(Dim::kKvHeads));
  return static_cast<double>(std::max<std::int64_t>(1, parts / tensor.extent(Dim::kKvHeads)));
}

DigitSet input_splits(const StepGraph& graph, const Node& node) {
  DigitSet splits;
  for (const ValueId id : node.inputs) {
    const Placement& placement = graph.value(id).placement;
    splits |= placement.sharded() | placement.routed;
  }
  return splits;
}

void add_products(const StepGraph& graph, const Node& node, const WorkForm& form, const BatchShape& shape,
                  WorkList& list) {
  const DigitSet rows = graph.value(node.inputs[0]).placement.sharded();
  for (std::size_t i = 0; i < node.weights.size(); ++i) {
    const Value& weight = graph.value(node.weights[i]);
    const WorkTerm& term = form.terms[i + 1];  // the first is x itself
    list[{node.op, i}] = {term.flops * evaluate_mean(term.symbol, shape),
                          redundancy(graph.mesh, rows | weight.placement.sharded()) *
                              whole_copies(graph, graph.tensor_of(node.weights[i]), weight.placement)};
  }
}

void add_experts(const StepGraph& graph, const Node& node, const WorkForm& form, const BatchShape& shape,
                 std::int64_t ep, WorkList& list) {
  const ExpertsOp& op = graph.op_of(node).experts;
  const ExpertLoadModel load({}, op.experts, op.per_token, ep, 0);
  DigitSet splits = input_splits(graph, node);
  for (const ValueId id : node.weights) splits |= graph.value(id).placement.sharded();
  const double tokens = evaluate(form.terms.front().symbol, shape) * form.tokens_ratio;
  list[{node.op, 0}] = {load.mean_rows(tokens) * form.flops_per_row, redundancy(graph.mesh, splits)};
}

WorkList work_list(const StepGraph& graph, const BatchShape& shape, std::int64_t ep) {
  WorkList list;
  for (const Node& node : graph.nodes) {
    if (!computes(node.kind)) continue;
    const WorkForm form = work_form(graph, node);
    const OpKind kind = graph.op_of(node).kind;
    if (form.grouped)
      add_experts(graph, node, form, shape, ep, list);
    else if (kind == OpKind::kMatmul || kind == OpKind::kRoute)
      add_products(graph, node, form, shape, list);
    else if (kind == OpKind::kAttention) {
      double flops = 0;
      for (const WorkTerm& term : form.terms) flops += term.flops * evaluate_mean(term.symbol, shape);
      // Keys are whole in prefill; what splits the work are the queries, and cached positions in decode.
      DigitSet splits = graph.value(node.inputs[0]).placement.sharded();
      if (graph.op_of(node).attention.phase == Phase::kDecode)
        splits |= DigitSet(graph.value(node.inputs[1]).placement.digits(Dim::kPositions));
      list[{node.op, 0}] = {flops, redundancy(graph.mesh, splits)};
    }
  }
  return list;
}

void check_form(const ModelSpec& model, const ParallelConfig& config, const StageGraphs& graphs,
                const BatchShape& shape) {
  ParallelConfig one;
  one.variant.capacity_factor_ratio = config.variant.capacity_factor_ratio;
  const Strategy alone = build_strategy(model, one, graphs.form);
  for (std::size_t k = 0; k < model.kinds.size(); ++k) {
    const StepGraph whole =
        lower(layer_graph(model, model.kinds[k], graphs.form, default_formats(model)), alone, graphs.form);
    const WorkList unsharded = work_list(whole, shape, 1);
    const WorkList sharded = work_list(graphs.layers[k], shape, config.ep);
    RC_ASSERT(unsharded.size() == sharded.size());
    for (const auto& [key, work] : sharded) {
      RC_LOG() << graphs.layers[k].logical.ops[static_cast<std::size_t>(key.first)].name << " of " << short_text(config)
               << '\n';
      const double all = work.flops * static_cast<double>(graphs.layers[k].mesh.ranks());
      RC_ASSERT(all == Approx(unsharded.at(key).flops * work.redundancy).epsilon(1e-12));
    }
  }
}

TEST_CASE("FLOPs of all ranks are the unsharded FLOPs times the declared redundancy") {
  CHECK(rc::check([] {
    const ModelSpec& model = *rc::gen::elementOf(property_models());
    const ParallelConfig config = any_config(model);
    RC_PRE(!model.has_window() || config.dcp == 1);  // windows have no even stripes
    const LoweredModel lowered = lowered_or_discard(model, config);
    check_form(model, config, lowered.serving(Phase::kDecode), even_decode());
    check_form(model, config, lowered.serving(Phase::kPrefill), even_prefill(any_of(0, 1) == 1));
  }));
}

TEST_CASE("Tensor parallelism of a layer without replicated heads repeats nothing but norms and routers") {
  const ModelSpec model = made_model({.attention = grouped_attention(8, 8, 4), .ffn = dense_ffn(24)});
  const LoweredModel lowered = lower_model(model, {.tp = 8}, default_formats(model));
  for (const auto& [key, work] : work_list(lowered.forms.front().layers.front(), even_decode(), 1))
    CHECK(work.redundancy == 1);
}

TEST_CASE("MLA repeats its projection into the latent on every tensor-parallel rank") {
  const ModelSpec model = small_family_models()[3];
  const LoweredModel lowered = lower_model(model, {.tp = 4, .moe_tp = 4}, default_formats(model));
  const StepGraph& layer = lowered.forms.front().layers.front();
  for (const auto& [key, work] : work_list(layer, even_decode(), 1)) {
    const std::string name = layer.logical.ops[static_cast<std::size_t>(key.first)].name;
    INFO(name);
    CHECK(work.redundancy == (name == "qkv_down" ? 4 : 1));
  }
}

}  // namespace
}  // namespace shardplan
