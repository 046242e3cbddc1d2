#include "tools/documents/models_document.h"

#include <nlohmann/json.hpp>
#include <string>

#include "tools/documents/document.h"

namespace shardplan {
namespace {

Document parameters_document(const ModelSpec& model) {
  const ParameterCount count = count_parameters(model);
  return {{"total", count.total()},
          {"active", count_active_parameters(model)},
          {"embedding", count.embedding},
          {"attention", count.attention},
          {"dense_ffn", count.dense_ffn},
          {"shared_experts", count.shared_experts},
          {"experts", count.experts},
          {"other", count.other},
          {"head", count.head}};
}

Document attention_document(const AttentionSpec& a) {
  Document document = {{"kind", a.kind == AttentionKind::kLatent ? "latent" : "grouped"},
                       {"q_heads", a.q_heads}, {"kv_heads", a.kv_heads}, {"head_dim", a.head_dim},
                       {"v_head_dim", a.v_head_dim}, {"window", a.window}};
  if (a.kind == AttentionKind::kLatent) {
    document.update({{"q_latent", a.q_latent}, {"kv_latent", a.kv_latent}, {"nope_dim", a.nope_dim}, {"rope_dim", a.rope_dim}});
  }
  return document;
}

Document ffn_document(const FfnSpec& f) {
  if (f.kind == FfnKind::kDense) return {{"kind", "dense"}, {"intermediate", f.intermediate}, {"gated", f.gated}};
  return {{"kind", "moe"}, {"intermediate", f.intermediate}, {"gated", f.gated}, {"experts", f.experts},
          {"experts_per_token", f.experts_per_token}, {"shared_intermediate", f.shared_intermediate}};
}

Document formats_document(const WeightFormats& f) {
  Document document = Document::object();
  const auto put = [&document](const char* name, const NumberFormat* format) {
    if (format != nullptr) document[name] = std::string(format->name);
  };
  put("attention", f.attention);
  put("attention_output", f.attention_output);
  put("dense_ffn", f.dense_ffn);
  put("shared_experts", f.shared_experts);
  put("experts", f.experts);
  put("embedding", f.embedding);
  put("head", f.head);
  put("other", f.other);
  return document;
}

Document kinds_document(const ModelSpec& model) {
  Document document = Document::array();
  for (std::size_t k = 0; k < model.kinds.size(); ++k) {
    const LayerKind& kind = model.kinds[k];
    document.push_back({{"name", kind.name}, {"layers", model.layers_of_kind(static_cast<int>(k))},
                        {"attention", attention_document(kind.attention)}, {"ffn", ffn_document(kind.ffn)},
                        {"formats", formats_document(kind.formats)}});
  }
  return document;
}

Document model_document(const ModelSpec& model) {
  return {{"name", model.name},
          {"hf_id", model.hf_id},
          {"family", model.family},
          {"layers", model.layer_count()},
          {"hidden", model.hidden},
          {"vocab", model.vocab},
          {"max_positions", model.max_positions},
          {"tied_embeddings", model.tied_embeddings},
          {"parameters", parameters_document(model)},
          {"weights_bytes", weight_bytes(model).value()},
          {"kv_format", std::string(model.kv_format->name)},
          {"kv_bytes_per_token", cache_bytes_per_token(model, *model.kv_format).value()},
          {"kinds", kinds_document(model)},
          {"notes", model.notes}};
}

}  // namespace

std::string models_document(const std::vector<ModelSpec>& models) {
  Document document = {{"schema", "shardplan.models/1"}};
  document["models"] = Document::array();
  for (const ModelSpec& model : models) document["models"].push_back(model_document(model));
  document["run"] = run_document();
  return text_of(document);
}

}  // namespace shardplan
