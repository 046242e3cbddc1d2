#include "tools/tables/models_table.h"

#include <fmt/format.h>

#include "base/table.h"
#include "base/units.h"
#include "tools/tables/estimate_table.h"
#include "tools/tables/numbers.h"

namespace shardplan {
namespace {

using Align = Table::Align;

std::string billions(std::int64_t count) { return fmt::format("{:.1f}", static_cast<double>(count) / 1e9); }

std::string attention_words(const AttentionSpec& a) {
  const std::string window = a.window > 0 ? fmt::format(", window {}", format_count(static_cast<double>(a.window))) : "";
  if (a.kind == AttentionKind::kLatent) {
    return fmt::format("{} heads on one latent of {} + {}{}", a.q_heads, a.kv_latent, a.rope_dim, window);
  }
  return fmt::format("{} query heads, {} KV heads of {}{}", a.q_heads, a.kv_heads, a.head_dim, window);
}

std::string ffn_words(const FfnSpec& f) {
  if (f.kind == FfnKind::kDense) return fmt::format("dense, {} wide", format_count(static_cast<double>(f.intermediate)));
  std::string text = fmt::format("{} experts, {} per token, {} wide", f.experts, f.experts_per_token, format_count(static_cast<double>(f.intermediate)));
  if (f.shared_intermediate > 0) text += fmt::format(", shared {}", format_count(static_cast<double>(f.shared_intermediate)));
  return text;
}

// The format of most of a layer's weights.
std::string layer_format(const LayerKind& kind) {
  const NumberFormat* format = kind.ffn.kind == FfnKind::kMoe ? kind.formats.experts : kind.formats.dense_ffn;
  return format == nullptr ? "-" : std::string(format->name);
}

std::string kinds_table(const ModelSpec& model) {
  Table table({{"layers", Align::kRight}, {"kind", Align::kLeft}, {"attention", Align::kLeft}, {"FFN", Align::kLeft},
               {"attention in", Align::kLeft}, {"FFN in", Align::kLeft}});
  for (std::size_t k = 0; k < model.kinds.size(); ++k) {
    const LayerKind& kind = model.kinds[k];
    table.add_row({format_count(static_cast<double>(model.layers_of_kind(static_cast<int>(k)))), kind.name, attention_words(kind.attention),
                   ffn_words(kind.ffn), kind.formats.attention == nullptr ? "-" : std::string(kind.formats.attention->name), layer_format(kind)});
  }
  return table.text(2);
}

}  // namespace

std::string models_table(const std::vector<ModelSpec>& models) {
  Table table({{"model", Align::kLeft}, {"layers"}, {"parameters 1e9"}, {"active 1e9"}, {"weights GiB"}, {"cache KiB/token"}, {"context"},
               {"format", Align::kLeft}});
  for (const ModelSpec& model : models) {
    table.add_row({model.name, std::to_string(model.layer_count()), billions(count_parameters(model).total()),
                   billions(count_active_parameters(model)), in_gib(weight_bytes(model)),
                   in_kib(static_cast<double>(cache_bytes_per_token(model, *model.kv_format).value())),
                   format_count(static_cast<double>(model.max_positions)), layer_format(model.kinds.back())});
  }
  return table.text();
}

std::string model_table(const ModelSpec& model) {
  const Bytes cache = cache_bytes_per_token(model, *model.kv_format);
  std::string text = fmt::format("{}{} ({})\n", model.name, model.hf_id.empty() ? "" : " = " + model.hf_id, model.family);
  text += fmt::format("  parameters  {} e9, of which a token passes {} e9\n", billions(count_parameters(model).total()),
                      billions(count_active_parameters(model)));
  text += fmt::format("  weights     {}\n", format_bytes(weight_bytes(model)));
  text += fmt::format("  cache       {} bytes per token in {}\n", format_count(static_cast<double>(cache.value())), model.kv_format->name);
  text += fmt::format("  context     {} positions\n", format_count(static_cast<double>(model.max_positions)));
  text += fmt::format("  width       {} hidden, {} in the vocabulary{}\n\n", format_count(static_cast<double>(model.hidden)),
                      format_count(static_cast<double>(model.vocab)), model.tied_embeddings ? ", one table for both ends" : "");
  return text + kinds_table(model) + notes_lines(model.notes);
}

}  // namespace shardplan
