#include "costmodel/lowered_model.h"

#include <algorithm>

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

DraftGraphs lower_drafts(const ModelSpec& model, std::int64_t drafts, const Strategy& strategy, StepForm form, const GraphFormats& formats) {
  DraftGraphs graphs;
  graphs.entry = lower(draft_entry_graph(model, form, formats), strategy, form);
  graphs.head = lower(head_graph(model, form, formats, Phase::kLast), strategy, form);
  const auto each = model.mtp_layers.size() / static_cast<std::size_t>(model.mtp_modules);
  const auto used = static_cast<std::size_t>(std::min(model.mtp_modules, drafts));
  for (std::size_t i = 0; i < used * each; ++i) {
    const LayerKind& kind = model.mtp_layers[i];
    std::size_t known = 0;
    while (known < graphs.kinds.size() && !same_layer(model.mtp_layers[graphs.kinds[known]], kind)) ++known;
    if (known == graphs.kinds.size()) {
      graphs.layers.push_back(lower(layer_graph(model, kind, form, formats), strategy, form));
      graphs.kinds.push_back(i);
    }
    if (i % each == 0) graphs.modules.emplace_back();
    graphs.modules.back().push_back(known);
  }
  return graphs;
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
  if (config.variant.speculative_tokens > 0) graphs.draft = lower_drafts(model, config.variant.speculative_tokens, strategy, form, formats);
  return graphs;
}

}  // namespace

const StageGraphs& LoweredModel::serving(Phase phase) const {
  return mixes() || phase == Phase::kDecode ? forms.front() : forms.back();
}

LoweredModel lower_model(const ModelSpec& model, const ParallelConfig& config, const GraphFormats& formats) {
  LoweredModel lowered;
  lowered.drafts = config.variant.speculative_tokens;
  if (config.pcp == 1) {
    lowered.forms.push_back(lower_form(model, config, StepForm::kMixed, formats));
  } else {
    lowered.forms.push_back(lower_form(model, config, StepForm::kDecode, formats));
    lowered.forms.push_back(lower_form(model, config, StepForm::kPrefill, formats));
  }
  return lowered;
}

}  // namespace shardplan
