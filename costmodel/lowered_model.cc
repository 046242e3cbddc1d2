#include "costmodel/lowered_model.h"

#include "base/errors.h"

namespace shardplan {
namespace {

// The residual stream to the same rank of the next stage.
StepGraph boundary_graph(const ModelSpec& model, const Strategy& strategy, StepForm form, const GraphFormats& formats) {
  StepGraph graph;
  graph.mesh = strategy.mesh;
  graph.form = form;
  Tensor x{.name = "x", .part = Part::kResidual, .dims = {{Dim::kTokens}}, .format = formats.activation};
  for (const DimExtent& dim : residual_dims(model)) x.dims.push_back(dim);
  const TensorId tensor = graph.logical.add(std::move(x));
  graph.logical.op({.kind = OpKind::kAdd, .name = "pipeline", .inputs = {tensor}, .outputs = {tensor}});
  graph.values = {{tensor, strategy.residual, false}, {tensor, strategy.residual, false}};
  graph.nodes.push_back({NodeKind::kSend, 0, {0}, {}, {1}, {}});
  graph.residual_in = 0;
  graph.residual_out = 1;
  return graph;
}

StageGraphs lower_form(const ModelSpec& model, const ParallelConfig& config, StepForm form, const GraphFormats& formats) {
  const Strategy strategy = build_strategy(model, config, form);
  StageGraphs graphs;
  graphs.form = form;
  graphs.embedding = lower(embedding_graph(model, form, formats), strategy, form);
  for (const LayerKind& kind : model.kinds) {
    graphs.layers.push_back(lower(layer_graph(model, kind, form, formats), strategy, form));
    const StepGraph& layer = graphs.layers.back();
    ensure(layer.value(layer.residual_in).placement == layer.value(layer.residual_out).placement,
           "a repeated layer must place the residual stream alike at both ends");
  }
  graphs.head = lower(head_graph(model, form, formats), strategy, form);
  graphs.boundary = boundary_graph(model, strategy, form, formats);
  return graphs;
}

}  // namespace

const StageGraphs& LoweredModel::serving(Phase phase) const {
  return mixes() || phase == Phase::kDecode ? forms.front() : forms.back();
}

LoweredModel lower_model(const ModelSpec& model, const ParallelConfig& config, const GraphFormats& formats) {
  LoweredModel lowered;
  if (config.pcp == 1) {
    lowered.forms.push_back(lower_form(model, config, StepForm::kMixed, formats));
  } else {
    lowered.forms.push_back(lower_form(model, config, StepForm::kDecode, formats));
    lowered.forms.push_back(lower_form(model, config, StepForm::kPrefill, formats));
  }
  return lowered;
}

}  // namespace shardplan
