// The three graphs a model is made of: one layer of a kind, the embedding, the head.
#include "base/errors.h"
#include "costmodel/layers/builder.h"
#include "costmodel/lower.h"

namespace shardplan {

namespace {

TensorId build_mixer(LayerBuilder& build, TensorId x, const LayerKind& kind) {
  switch (kind.attention.kind) {
    case AttentionKind::kGrouped: return build_grouped_attention(build, x, kind);
    case AttentionKind::kLatent: return build_latent_attention(build, x, kind);
    case AttentionKind::kRecurrent: return build_recurrent(build, x, kind);
    case AttentionKind::kCompressed:
      throw LoweringRefusal("unsupported_layer", "compressed attention (DeepSeek-V4) is counted but cannot be planned yet");
    case AttentionKind::kNone: break;
  }
  throw InternalError("a layer without a mixer has no such branch");
}

// x plus the branch, normalised before it is added where the model does so.
TensorId add_branch(LayerBuilder& build, const char* name, TensorId x, TensorId branch, const LayerKind& kind) {
  return build.add_residual(name, x, kind.post_norms ? build.norm("branch_normed", branch) : branch);
}

}  // namespace

LogicalGraph layer_graph(const ModelSpec& model, const LayerKind& kind, StepForm form, const GraphFormats& formats) {
  LayerBuilder build(model, form, formats);
  const TensorId x = build.activation("x", Part::kResidual, {{Dim::kHidden, model.hidden}});
  TensorId out = x;
  if (kind.attention.kind != AttentionKind::kNone) {
    const TensorId mixed = build_mixer(build, build.norm("attention_in", out), kind);
    out = add_branch(build, "x_mid", out, mixed, kind);
  }
  if (kind.ffn.kind != FfnKind::kNone) {
    const TensorId ffn_in = build.norm("ffn_in", out);
    const TensorId ffn = kind.ffn.kind == FfnKind::kMoe ? build_moe(build, ffn_in, kind) : build_dense_ffn(build, ffn_in, kind);
    out = add_branch(build, "x_out", out, ffn, kind);
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
  build.graph.residual_out = x;
  return std::move(build.graph);
}

LogicalGraph head_graph(const ModelSpec& model, StepForm form, const GraphFormats& formats) {
  LayerBuilder build(model, form, formats);
  const DimExtent hidden{Dim::kHidden, model.hidden};
  const TensorId x = build.activation("x", Part::kResidual, {hidden});
  const TensorId last = build.activation("last", Part::kHead, {hidden}, Phase::kLast);
  build.graph.op({.kind = OpKind::kLast, .name = "last", .inputs = {x}, .outputs = {last}, .own_kernel = false});
  const TensorId normed = build.norm("head_in", last);
  const TensorId w_head = build.weight("w_head", Part::kHead, {{Dim::kVocab, model.vocab}}, {hidden}, model.formats.head);
  const TensorId logits = build.activation("logits", Part::kHead, {{Dim::kVocab, model.vocab}}, Phase::kLast, find_format("fp32"));
  build.matmul_into("lm_head", normed, w_head, logits, 0);
  const TensorId ids = build.activation("sampled_ids", Part::kHead, {}, Phase::kLast, find_format("fp32"));
  build.graph.op({.kind = OpKind::kSample, .name = "sample", .inputs = {logits}, .outputs = {ids}});
  build.graph.residual_in = x;
  return std::move(build.graph);
}

}  // namespace shardplan
