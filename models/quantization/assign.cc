#include "models/quantization/assign.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/errors.h"

namespace shardplan {
namespace {

constexpr std::int64_t kMaxPatternTrials = 400'000;

// Asks the scheme about the modules of one layer after the other and remembers what was mixed.
class Assigner {
 public:
  Assigner(const ModuleNames& names, const QuantizationScheme& scheme) : names_(names), scheme_(scheme) {}

  [[nodiscard]] WeightFormats formats_of(const LayerKind& kind, std::size_t layer) {
    prefix_ = fmt::format("{}.{}.", names_.layers, layer);
    WeightFormats formats = unquantised();
    if (kind.attention.kind != AttentionKind::kNone) {
      formats.attention = attention(kind.attention);
      formats.attention_output = widest({output_of(kind.attention)}, "attention output");
    }
    if (kind.ffn.kind == FfnKind::kNone) return formats;
    if (kind.ffn.kind == FfnKind::kDense) {
      formats.dense_ffn = widest(projections(kind.ffn.gated, names_.dense_ffn), "dense FFN");
      return formats;
    }
    const auto& parts = names_.expert_projections;
    const std::string experts = below(names_.ffn, names_.experts);
    formats.experts = widest(
        {below(experts, parts[kind.ffn.gated ? 0 : 1]), below(experts, parts[1]), below(experts, parts[2])}, "experts");
    if (kind.ffn.shared_intermediate > 0) {
      formats.shared_experts =
          widest(projections(kind.ffn.gated, below(names_.ffn, names_.shared_experts)), "shared experts");
    }
    return formats;
  }

  [[nodiscard]] WeightFormats unquantised() const {
    const NumberFormat* base = scheme_.base;
    return {base, base, base, base, base, base, base, base};
  }

  [[nodiscard]] const std::set<std::string>& mixed() const { return mixed_; }

 private:
  static std::string below(std::string_view block, std::string_view module) {
    return block.empty() ? std::string(module) : fmt::format("{}.{}", block, module);
  }

  static std::vector<std::string> projections(bool gated, std::string_view block) {
    return {below(block, gated ? "gate_proj" : "up_proj"), below(block, "up_proj"), below(block, "down_proj")};
  }

  [[nodiscard]] std::string output_of(const AttentionSpec& attention) const {
    if (attention.kind == AttentionKind::kRecurrent) return std::string(names_.recurrent_out);
    return below(names_.attention, attention.kind == AttentionKind::kCompressed ? "wo_b" : "o_proj");
  }

  const NumberFormat* attention(const AttentionSpec& attention) {
    const auto of = [&](std::string_view module) { return below(names_.attention, module); };
    switch (attention.kind) {
      case AttentionKind::kRecurrent:
        return widest({std::string(names_.recurrent_in[0]), std::string(names_.recurrent_in[1])}, "recurrent mixers");
      case AttentionKind::kCompressed:
        return widest({of("wq_a"), of("wq_b"), of("wkv")}, "attention");
      case AttentionKind::kGrouped:
        return widest({of("q_proj"), of("k_proj"), of(attention.value_is_key ? "k_proj" : "v_proj")}, "attention");
      case AttentionKind::kLatent:
      case AttentionKind::kNone:
        break;
    }
    const char* first = attention.q_latent > 0 ? "q_a_proj" : "q_proj";
    const char* second = attention.q_latent > 0 ? "q_b_proj" : "q_proj";
    return widest({of(first), of(second), of("kv_a_proj_with_mqa"), of("kv_b_proj")}, "attention");
  }

  const NumberFormat* widest(const std::vector<std::string>& modules, const char* family) {
    const NumberFormat* result = nullptr;
    for (const std::string& module : modules) {
      const NumberFormat* format = &scheme_.format_of_linear(prefix_ + module);
      if (result != nullptr && format != result) mixed_.insert(family);
      if (result == nullptr || format->bytes_per_element() > result->bytes_per_element()) result = format;
    }
    return result;
  }

  const ModuleNames& names_;
  const QuantizationScheme& scheme_;
  std::string prefix_;
  std::set<std::string> mixed_;
};

void check_cost(const QuantizationScheme& scheme, std::int64_t layers, const std::string& where) {
  std::int64_t cost = scheme.kept.cost();
  for (const QuantizationRule& rule : scheme.rules) cost += rule.modules.cost() + 1;
  if (cost > kMaxPatternTrials / std::max<std::int64_t>(layers, 1)) {
    throw InputError(where, fmt::format("the quantisation config has too many patterns for {} layers", layers),
                     "fewer patterns, or plain module names");
  }
}

}  // namespace

void assign_formats(ModelSpec& model, const ModuleNames& names, const QuantizationScheme& scheme,
                    const std::string& where) {
  check_cost(scheme, model.layer_count() + std::ssize(model.mtp_layers), where);
  const std::vector<LayerKind> kinds = std::move(model.kinds);
  const std::vector<int> layers = std::move(model.layers);
  model.kinds.clear();
  model.layers.clear();
  Assigner assigner(names, scheme);
  for (std::size_t layer = 0; layer < layers.size(); ++layer) {
    LayerKind kind = kinds[static_cast<std::size_t>(layers[layer])];
    kind.formats = assigner.formats_of(kind, layer);
    append_layer(model, kind);
  }
  for (std::size_t layer = 0; layer < model.mtp_layers.size(); ++layer) {
    model.mtp_layers[layer].formats = assigner.formats_of(model.mtp_layers[layer], layers.size() + layer);
  }
  model.formats = assigner.unquantised();
  model.formats.head = &scheme.format_of_head("lm_head");
  for (const std::string& family : assigner.mixed()) {
    model.notes.push_back(fmt::format("the matrices of the {} differ in format; the widest is taken for all", family));
  }
  model.notes.insert(model.notes.end(), scheme.notes.begin(), scheme.notes.end());
  model.kv_format = scheme.kv_format;
  if (model.kv_format == nullptr)
    model.kv_format = scheme.base->kv_cache ? scheme.base : &require_format("bf16", where);
}

}  // namespace shardplan
