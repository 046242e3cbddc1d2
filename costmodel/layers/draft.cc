// What an MTP module puts before its layers. Source: DeepSeek-V3 report, section 2.2.
//
//   x' = W [norm(embedding of the next token); norm(hidden state)],  W: [hidden, 2 hidden], the same on every rank
// The embedding's table is the model's. Where a model has several residual streams their mean is read (wrong by what a
// projection of each stream would add).
#include "costmodel/layers/builder.h"
#include "costmodel/layers/streams.h"

namespace shardplan {

LogicalGraph draft_entry_graph(const ModelSpec& model, StepForm form, const GraphFormats& formats) {
  LayerBuilder build(model, form, formats);
  const DimExtent hidden{Dim::kHidden, model.hidden};
  const DimExtent pair{Dim::kPair, 2 * model.hidden};
  const TensorId x = build.activation("x", Part::kResidual, residual_dims(model));
  const TensorId ids = build.activation("next_ids", Part::kEmbedding, {}, Phase::kAll, find_format("fp32"));
  const TensorId table =
      build.weight("w_embedding", Part::kEmbedding, {{Dim::kVocab, model.vocab}}, {hidden}, model.formats.embedding);
  const TensorId embedded = build.activation("embedded", Part::kResidual, {hidden});
  build.graph.op(
      {.kind = OpKind::kEmbed, .name = "embedding", .inputs = {ids}, .weights = {table}, .outputs = {embedded}});
  const TensorId next = build.norm("embedding_normed", embedded);
  const TensorId state = build.norm("hidden_normed", mean_of_streams(build, x));
  const TensorId both = build.activation("embedding_and_hidden", Part::kResidual, {pair});
  build.graph.op({.kind = OpKind::kConcat, .name = "concat", .inputs = {next, state}, .outputs = {both}});
  const TensorId w = build.weight("w_eh_proj", Part::kDraft, {hidden}, {pair}, model.formats.other);
  const TensorId projected = build.matmul("eh_proj", both, {w}, {"draft_in"}, Part::kResidual)[0];
  build.graph.residual_in = x;
  build.graph.residual_out = copy_to_streams(build, projected);
  return std::move(build.graph);
}

}  // namespace shardplan
