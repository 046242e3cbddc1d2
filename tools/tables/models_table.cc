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

std::string compressed_words(const AttentionSpec& a) {
  const std::string window = fmt::format("{} query heads of {} on one key, window {}", a.q_heads, a.head_dim, format_count(static_cast<double>(a.window)));
  if (a.compressed.ratio == 0) return window;
  const std::string chosen = a.index.heads > 0 ? fmt::format(", the best {}", format_count(static_cast<double>(a.index.top_k))) : "";
  return fmt::format("{} and an entry per {} tokens{}", window, a.compressed.ratio, chosen);
}

std::string attention_words(const AttentionSpec& a) {
  if (a.kind == AttentionKind::kNone) return "-";
  if (a.kind == AttentionKind::kCompressed) return compressed_words(a);
  if (a.kind == AttentionKind::kRecurrent) {
    const RecurrentSpec& r = a.recurrent;
    return fmt::format("recurrent, {} heads with a state of {} x {}, {} key heads", r.value_heads, r.key_dim, r.value_dim, r.key_heads);
  }
  const std::string window = a.window > 0 ? fmt::format(", window {}", format_count(static_cast<double>(a.window))) : "";
  if (a.kind == AttentionKind::kLatent) {
    return fmt::format("{} heads on one latent of {} + {}{}", a.q_heads, a.kv_latent, a.rope_dim, window);
  }
  return fmt::format("{} query heads, {} KV heads of {}{}", a.q_heads, a.kv_heads, a.head_dim, window);
}

std::string ffn_words(const FfnSpec& f) {
  if (f.kind == FfnKind::kNone) return "-";
  if (f.kind == FfnKind::kDense) return fmt::format("dense, {} wide", format_count(static_cast<double>(f.intermediate)));
  std::string text = fmt::format("{} experts, {} per token, {} wide", f.experts, f.experts_per_token, format_count(static_cast<double>(f.intermediate)));
  if (f.shared_intermediate > 0) text += fmt::format(", shared {}", format_count(static_cast<double>(f.shared_intermediate)));
  return text;
}

// The format of most of a layer's weights.
std::string layer_format(const LayerKind& kind) {
  if (kind.ffn.kind == FfnKind::kNone) return "-";
  const NumberFormat* format = kind.ffn.kind == FfnKind::kMoe ? kind.formats.experts : kind.formats.dense_ffn;
  return format == nullptr ? "-" : std::string(format->name);
}

std::string attention_format(const LayerKind& kind) {
  const bool none = kind.attention.kind == AttentionKind::kNone || kind.formats.attention == nullptr;
  return none ? "-" : std::string(kind.formats.attention->name);
}

// Of the last layer that has an FFN; of the last layer's attention where none has.
std::string main_format(const ModelSpec& model) {
  for (auto kind = model.kinds.rbegin(); kind != model.kinds.rend(); ++kind) {
    if (kind->ffn.kind != FfnKind::kNone) return layer_format(*kind);
  }
  return attention_format(model.kinds.back());
}

std::string kinds_table(const ModelSpec& model) {
  Table table({{"layers", Align::kRight}, {"kind", Align::kLeft}, {"attention", Align::kLeft}, {"FFN", Align::kLeft},
               {"attention in", Align::kLeft}, {"FFN in", Align::kLeft}});
  for (std::size_t k = 0; k < model.kinds.size(); ++k) {
    const LayerKind& kind = model.kinds[k];
    table.add_row({format_count(static_cast<double>(model.layers_of_kind(static_cast<int>(k)))), kind.name, attention_words(kind.attention),
                   ffn_words(kind.ffn), attention_format(kind), layer_format(kind)});
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
                   format_count(static_cast<double>(model.max_positions)), main_format(model)});
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
  const Bytes state = state_bytes_per_request(model);
  if (state > Bytes(0)) text += fmt::format("  state       {} per request, whatever its length\n", format_bytes(state));
  text += fmt::format("  context     {} positions\n", format_count(static_cast<double>(model.max_positions)));
  text += fmt::format("  width       {} hidden, {} in the vocabulary{}\n\n", format_count(static_cast<double>(model.hidden)),
                      format_count(static_cast<double>(model.vocab)), model.tied_embeddings ? ", one table for both ends" : "");
  return text + kinds_table(model) + notes_lines(model.notes);
}

}  // namespace shardplan
