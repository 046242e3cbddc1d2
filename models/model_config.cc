#include "models/model_config.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>
#include <vector>

#include "base/errors.h"
#include "models/families/registry.h"
#include "models/in_quotes.h"
#include "models/limits.h"
#include "models/quantization/assign.h"
#include "models/quantization/scheme.h"
#include "models/rotary.h"
#include "models/unread_keys.h"
#include "models/vision.h"

namespace shardplan {
namespace {

const NumberFormat& read_base_format(JsonObject& config, JsonObject& outer) {
  std::string dtype = "bfloat16";
  for (JsonObject* object : {&outer, &config}) {
    for (const char* key : {"torch_dtype", "dtype"}) dtype = object->string_or(key, dtype);
  }
  if (dtype == "bfloat16") return require_format("bf16", config.where("torch_dtype"));
  if (dtype == "float16") return require_format("fp16", config.where("torch_dtype"));
  if (dtype == "float32") return require_format("fp32", config.where("torch_dtype"));
  throw InputError(config.where("torch_dtype"), "unknown dtype " + in_quotes(dtype), "bfloat16, float16 or float32");
}

// What quantises the model: the file beside the config, or the config, or the text part of it.
QuantizationScheme read_scheme(JsonObject& config, JsonObject& outer, std::string_view quantization,
                               const std::string& where) {
  QuantizationScheme scheme;
  scheme.base = &read_base_format(config, outer);
  if (config.string_or("expert_dtype", "") == "fp4") {  // DeepSeek-V4: experts in MXFP4 whatever the rest is in
    QuantizationRule rule;
    rule.format = &require_format("mxfp4_a16", config.where("expert_dtype"));
    ensure(rule.modules.add("experts"), "a plain name is a known pattern");
    scheme.rules.push_back(std::move(rule));
  }
  std::optional<JsonObject> inside = outer.object_if("quantization_config");
  if (!inside) inside = config.object_if("quantization_config");
  if (!quantization.empty()) {
    const std::string file = where + " (hf_quant_config.json)";
    const Json json = parse_json(quantization, file);
    JsonObject document(json, file);
    read_hf_quant_config(document, scheme);
  } else if (inside) {
    read_quantization_config(*inside, scheme);
  }
  return scheme;
}

// MTP modules that the family did not describe hold a layer like the last one.
void complete_mtp(ModelSpec& model) {
  if (model.mtp_modules == 0) return;
  if (model.mtp_layers.empty()) {
    const LayerKind& last = model.kinds[static_cast<std::size_t>(model.layers.back())];
    model.mtp_layers.assign(static_cast<std::size_t>(model.mtp_modules), last);
  }
  model.notes.push_back(fmt::format("{} MTP module{} counted apart: {:.2f}e9 parameters", model.mtp_modules,
                                    model.mtp_modules > 1 ? "s" : "",
                                    static_cast<double>(count_mtp_parameters(model)) / 1e9));
}

void read_vision(JsonObject& outer, ModelSpec& model) {
  std::optional<JsonObject> vision = outer.object_if("vision_config");
  if (!vision) return;
  model.vision_parameters = count_vision_parameters(*vision, model.hidden);
  model.vision_heads = vision_heads(*vision);
  model.vision_values_per_token =
      vision_values_per_token(*vision, outer.integer_or("mm_tokens_per_image", 0, 1, 1'000'000),
                              outer.integer_or("spatial_merge_size", 0, 1, 64));
  model.notes.push_back(model.vision_parameters > 0
                            ? fmt::format("the vision tower is counted apart: {:.2f}e9 parameters",
                                          static_cast<double>(model.vision_parameters) / 1e9)
                            : std::string("the vision tower is left out"));
}

void check_size(const ModelSpec& model, const std::string& where) {
  if (model.layers.empty()) throw InputError(where, "describes no layer", "one layer or more");
  const std::int64_t total = count_parameters(model).total();
  if (total > kMaxParameters) {
    throw InputError(where, fmt::format("describes {} parameters", total), fmt::format("at most {}", kMaxParameters));
  }
}

void note_unread(const JsonObject& config, const Json& json, ModelSpec& model) {
  const std::vector<std::string> keys = suspicious_unread_keys(config, json);
  if (keys.empty()) return;
  model.notes.push_back(fmt::format("fields not understood, every size is taken as if they were not there: {}",
                                    fmt::join(keys, ", ")));
}

// Python writes infinite limits as Infinity, which is no JSON: null in their place, blanks for the rest.
std::string without_infinities(std::string_view text) {
  constexpr std::string_view kWord = "Infinity";
  std::string result(text);
  bool quoted = false;
  for (std::size_t at = 0; at < result.size(); ++at) {
    if (result[at] == '"') quoted = !quoted;
    if (quoted && result[at] == '\\') ++at;
    if (quoted || at >= result.size() || result.compare(at, kWord.size(), kWord) != 0) continue;
    result.replace(at, kWord.size(), "null    ");
    if (at > 0 && result[at - 1] == '-') result[at - 1] = ' ';
  }
  return result;
}

// `json` is the text part of `outer`, or all of it.
ModelSpec read_text_model(const Json& json, const std::string& pointer, JsonObject& outer,
                          std::string_view quantization, const std::string& where) {
  JsonObject config(json, where, pointer);
  const ModelFamily& family = require_family(config, outer);
  ModelSpec model = family.read(config);
  model.name = where;
  model.family = family.name;
  model.hf_id = outer.string_or("hf_id", "");
  const std::vector<std::string> notes = outer.strings("notes");
  model.notes.insert(model.notes.end(), notes.begin(), notes.end());
  check_size(model, where);
  complete_mtp(model);
  assign_formats(model, family.modules, read_scheme(config, outer, quantization, where), where);
  model.rotary_elements = count_rotary_elements(config, model);
  note_unread(config, json, model);
  read_vision(outer, model);
  return model;
}

}  // namespace

ModelSpec read_model_config(std::string_view config, std::string_view quantization, const std::string& where) {
  const Json json = parse_json(without_infinities(config), where);
  JsonObject outer(json, where);
  const Json* text = outer.find("text_config");
  if (text == nullptr) return read_text_model(json, "", outer, quantization, where);
  return read_text_model(*text, "/text_config", outer, quantization, where);
}

}  // namespace shardplan
