// The three graphs a model is made of: one layer of a kind, the embedding, the head.
#include "base/errors.h"
#include "costmodel/layers/builder.h"
#include "costmodel/layers/streams.h"

namespace shardplan {

namespace {

TensorId build_mixer(LayerBuilder& build, TensorId x, const LayerKind& kind) {
  switch (kind.attention.kind) {
    case AttentionKind::kGrouped: return build_grouped_attention(build, x, kind);
    case AttentionKind::kLatent: return build_latent_attention(build, x, kind);
    case AttentionKind::kRecurrent: return build_recurrent(build, x, kind);
    case AttentionKind::kCompressed: return build_compressed_attention(build, x, kind);
    case AttentionKind::kNone: break;
  }
  throw InternalError("a layer without a mixer has no such branch");
}

// x plus the branch, normalised before it is added where the model does so.
TensorId add_branch(LayerBuilder& build, const char* name, const StreamSite& site, TensorId branch, const LayerKind& kind) {
  if (kind.post_norms) branch = build.norm("branch_normed", branch);
  return site.mix < 0 ? build.add_residual(name, site.residual, branch) : leave_streams(build, name, site, branch);
}

}  // namespace

LogicalGraph layer_graph(const ModelSpec& model, const LayerKind& kind, StepForm form, const GraphFormats& formats) {
  LayerBuilder build(model, form, formats);
  const TensorId x = build.activation("x", Part::kResidual, residual_dims(model));
  TensorId out = x;
  if (kind.attention.kind != AttentionKind::kNone) {
    const StreamSite site = enter_streams(build, out);
    const TensorId mixed = build_mixer(build, build.norm("attention_in", site.input), kind);
    out = add_branch(build, "x_mid", site, mixed, kind);
  }
  if (kind.ffn.kind != FfnKind::kNone) {
    const StreamSite site = enter_streams(build, out);
    const TensorId ffn_in = build.norm("ffn_in", site.input);
    const TensorId ffn = kind.ffn.kind == FfnKind::kMoe ? build_moe(build, ffn_in, kind) : build_dense_ffn(build, ffn_in, kind);
    out = add_branch(build, "x_out", site, ffn, kind);
  }
  build.graph.residual_in = x;
  build.graph.residual_out = out;
  return std::move(build.graph);
}

LogicalGraph embedding_graph(const ModelSpec& model, StepForm form, const GraphFormats& formats) {
  LayerBuilder build(model, form, formats);
  const DimExtent hidden{Dim::kHidden, model.hidden};
  const TensorId ids = build.activation("token_ids", Part::kEmbedding, {}, Phase::kAll, find_format("fp32"));
  const TensorId table = build.weight("w_embedding", Part::kEmbedding, {{Dim::kVocab, model.vocab}}, {hidden}, model.formats.embedding);
  const TensorId x = build.activation("embedded", Part::kResidual, {hidden});
  build.graph.op({.kind = OpKind::kEmbed, .name = "embedding", .inputs = {ids}, .weights = {table}, .outputs = {x}});
  build.graph.residual_out = copy_to_streams(build, x);
  return std::move(build.graph);
}

LogicalGraph head_graph(const ModelSpec& model, StepForm form, const GraphFormats& formats, Phase rows) {
  LayerBuilder build(model, form, formats);
  const DimExtent hidden{Dim::kHidden, model.hidden};
  const TensorId x = build.activation("x", Part::kResidual, residual_dims(model));
  const TensorId last = build.activation("last", Part::kHead, residual_dims(model), rows);
  build.graph.op({.kind = OpKind::kLast, .name = "last", .inputs = {x}, .outputs = {last}, .own_kernel = false});
  const TensorId normed = build.norm("head_in", mean_of_streams(build, last));
  const TensorId w_head = build.weight("w_head", Part::kHead, {{Dim::kVocab, model.vocab}}, {hidden}, model.formats.head);
  const TensorId logits = build.activation("logits", Part::kHead, {{Dim::kVocab, model.vocab}}, rows, find_format("fp32"));
  build.matmul_into("lm_head", normed, w_head, logits, 0);
  const TensorId ids = build.activation("sampled_ids", Part::kHead, {}, rows, find_format("fp32"));
  build.graph.op({.kind = OpKind::kSample, .name = "sample", .inputs = {logits}, .outputs = {ids}});
  build.graph.residual_in = x;
  return std::move(build.graph);
}

}  // namespace shardplan
