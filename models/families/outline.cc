#include "models/families/outline.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/errors.h"
#include "models/in_quotes.h"
#include "models/limits.h"

namespace shardplan {
namespace {

constexpr std::int64_t kMaxDraftLayers = 1000;

std::int64_t read_mtp_modules(JsonObject& config) {
  const std::int64_t modules = config.integer_or("num_mtp_modules", 0, 0, kMaxDraftLayers);
  const std::int64_t layers_per_module = config.integer_or("mtp_transformer_layers", 1, 0, kMaxDraftLayers);
  for (const char* key : {"num_nextn_predict_layers", "mtp_num_hidden_layers"}) {
    const std::int64_t layers = config.integer_or(key, 0, 0, kMaxDraftLayers);
    if (layers > 0) return layers;
  }
  return modules * layers_per_module;
}

}  // namespace

ModelSpec read_outline(JsonObject& config) {
  ModelSpec model;
  model.hidden = config.integer("hidden_size", 1, kMaxHidden);
  model.vocab = config.integer("vocab_size", 1, kMaxVocab);
  model.max_positions = config.integer_or("max_position_embeddings", 0, 0, kMaxPositions);
  model.tied_embeddings = config.boolean_or("tie_word_embeddings", false);
  model.mtp_modules = read_mtp_modules(config);
  return model;
}

std::int64_t read_layer_count(JsonObject& config) { return config.integer("num_hidden_layers", 1, kMaxLayers); }

AttentionSpec read_grouped_attention(JsonObject& config, std::int64_t hidden) {
  AttentionSpec attention;
  attention.q_heads = config.integer("num_attention_heads", 1, kMaxHeads);
  attention.kv_heads = config.integer_or("num_key_value_heads", attention.q_heads, 1, kMaxHeads);
  if (attention.q_heads % attention.kv_heads != 0) {
    throw InputError(config.where("num_key_value_heads"), fmt::format("is {}", attention.kv_heads),
                     fmt::format("a divisor of the {} query heads", attention.q_heads));
  }
  attention.head_dim = config.integer_or("head_dim", 0, 1, kMaxHeadDim);
  if (attention.head_dim == 0) {
    if (hidden % attention.q_heads != 0) {
      throw InputError(config.where("head_dim"),
                       fmt::format("is missing, and {} heads do not divide {}", attention.q_heads, hidden),
                       "the size of one head");
    }
    attention.head_dim = hidden / attention.q_heads;
  }
  attention.v_head_dim = attention.head_dim;
  return attention;
}

FfnSpec read_dense_ffn(JsonObject& config) {
  FfnSpec ffn;
  ffn.intermediate = config.integer("intermediate_size", 1, kMaxIntermediate);
  return ffn;
}

std::int64_t read_experts_per_token(JsonObject& config, std::string_view key, std::int64_t experts) {
  return config.integer(key, 1, experts);
}

std::vector<std::int64_t> read_layer_types(JsonObject& config, std::int64_t layers, std::int64_t window) {
  const std::vector<std::string> types = config.strings("layer_types");
  if (types.empty()) return {};
  if (static_cast<std::int64_t>(types.size()) != layers) {
    throw InputError(config.where("layer_types"), fmt::format("names {} layers", types.size()),
                     fmt::format("{}", layers));
  }
  std::vector<std::int64_t> windows;
  for (const std::string& type : types) {
    if (type != "full_attention" && type != "sliding_attention") {
      throw InputError(config.where("layer_types"), "unknown type " + in_quotes(type),
                       "full_attention or sliding_attention");
    }
    windows.push_back(type == "sliding_attention" ? window : 0);
  }
  return windows;
}

std::string kind_name(const AttentionSpec& attention, const FfnSpec& ffn) {
  const char* const name = ffn.kind == FfnKind::kMoe ? "moe" : "dense";
  switch (attention.kind) {
    case AttentionKind::kNone:
      return std::string(name) + "_only";
    case AttentionKind::kRecurrent:
      return ffn.kind == FfnKind::kNone ? "recurrent" : std::string(name) + "_recurrent";
    case AttentionKind::kCompressed:
      return std::string(name) + (attention.compressed.ratio > 0 ? "_compressed" : "_window");
    case AttentionKind::kGrouped:
    case AttentionKind::kLatent:
      break;
  }
  if (ffn.kind == FfnKind::kNone) return "attention";
  if (attention.index.heads > 0) return std::string(name) + (attention.index.shared ? "_sparse_shared" : "_sparse");
  if (attention.chunked) return std::string(name) + "_chunked";
  return attention.window > 0 ? std::string(name) + "_sliding" : name;
}

LayerKind layer_of(const AttentionSpec& attention, const FfnSpec& ffn) {
  LayerKind kind;
  kind.name = kind_name(attention, ffn);
  kind.attention = attention;
  kind.ffn = ffn;
  return kind;
}

void append_layer(ModelSpec& model, const AttentionSpec& attention, const FfnSpec& ffn) {
  append_layer(model, layer_of(attention, ffn));
}

std::vector<std::int64_t> read_flags(JsonObject& config, std::string_view key, std::int64_t layers) {
  const Json* list = config.find(key);
  if (list == nullptr) return {};
  const bool good = list->is_array() && static_cast<std::int64_t>(list->size()) == layers;
  if (!good)
    throw InputError(config.where(key), "does not list every layer", fmt::format("an array of {} numbers", layers));
  std::vector<std::int64_t> flags;
  for (const Json& flag : *list) {
    const bool number = flag.is_number_integer() && flag.get<double>() >= 0 && flag.get<double>() <= 1e6;
    if (!number) throw InputError(config.where(key), "holds what is no small number", "an array of whole numbers");
    flags.push_back(flag.get<std::int64_t>());
  }
  return flags;
}

}  // namespace shardplan
