// NVIDIA ModelOpt: quant_algo names one format for every matrix, or MIXED_PRECISION and a list of
// modules with a format each. The same words stand in quantization_config and, below "quantization", in
// hf_quant_config.json.
#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string>

#include "base/errors.h"
#include "base/suggest.h"
#include "models/in_quotes.h"
#include "models/quantization/methods.h"

namespace shardplan {
namespace {

struct Algorithm {
  std::string_view name;
  std::string_view format;
};

constexpr std::array kAlgorithms = {
    Algorithm{"FP8", "fp8"},
    Algorithm{"FP8_PER_CHANNEL_PER_TOKEN", "fp8_channel"},
    Algorithm{"FP8_PB_WO", "fp8_block"},
    Algorithm{"NVFP4", "nvfp4"},
    Algorithm{"W4A16_NVFP4", "nvfp4_a16"},
    Algorithm{"W4A16_MXFP4", "mxfp4_a16"},
    Algorithm{"W4A16_AWQ", "int4_g128"},
    Algorithm{"INT4_AWQ", "int4_g128"},
};

const NumberFormat& format_of_algorithm(const std::string& name, const std::string& where) {
  std::vector<std::string> names = {"MIXED_PRECISION"};
  for (const Algorithm& algorithm : kAlgorithms) {
    if (algorithm.name == name) return require_format(algorithm.format, where);
    names.emplace_back(algorithm.name);
  }
  throw InputError(where, "unknown quant_algo " + in_quotes(name), nearest_hint(name, names));
}

// {"model.layers.0.mlp.experts": {"quant_algo": "NVFP4"}, ...}: one rule per format.
void read_quantized_layers(JsonObject& config, QuantizationScheme& scheme) {
  std::optional<JsonObject> layers = config.object_if("quantized_layers");
  if (!layers) return;
  for (const std::string& module : layers->unread_keys()) {
    JsonObject entry = layers->object(module);
    const NumberFormat& format = format_of_algorithm(entry.string("quant_algo"), config.where("quantized_layers"));
    auto rule = std::find_if(scheme.rules.begin(), scheme.rules.end(),
                             [&](const QuantizationRule& known) { return known.format == &format; });
    if (rule == scheme.rules.end()) {
      scheme.rules.emplace_back().format = &format;
      rule = scheme.rules.end() - 1;
    }
    if (!rule->modules.add(module))
      scheme.notes.push_back("module " + in_quotes(module) + " of quantized_layers not understood");
  }
}

// "FP8", "NVFP4", {"num_bits": 8, "type": "float"} or null, under either key.
const NumberFormat* read_kv_format(JsonObject& config) {
  for (const char* key : {"kv_cache_quant_algo", "kv_cache_scheme"}) {
    const Json* value = config.find(key);
    if (value == nullptr) continue;
    if (value->is_object()) {
      JsonObject scheme = config.object(key);
      return &require_kv_format(scheme.integer("num_bits", 4, 8) == 8 ? "fp8" : "nvfp4", config.where(key));
    }
    const std::string name = config.string(key);
    if (name == "FP8") return &require_kv_format("fp8", config.where(key));
    if (name == "NVFP4") return &require_kv_format("nvfp4", config.where(key));
    throw InputError(config.where(key), "unknown cache format " + in_quotes(name), "FP8 or NVFP4");
  }
  return nullptr;
}

}  // namespace

void read_modelopt(JsonObject& config, QuantizationScheme& scheme) {
  const std::string algorithm = config.string_or("quant_algo", "");
  if (algorithm == "MIXED_PRECISION") {
    read_quantized_layers(config, scheme);
  } else if (!algorithm.empty()) {
    quantise_every_linear(scheme, format_of_algorithm(algorithm, config.where("quant_algo")));
  }
  for (const char* key : {"ignore", "exclude_modules"}) keep_modules(config, key, scheme);
  if (const NumberFormat* kv = read_kv_format(config)) scheme.kv_format = kv;
}

void read_hf_quant_config(JsonObject& document, QuantizationScheme& scheme) {
  QuantizationScheme fresh;
  fresh.base = scheme.base;
  JsonObject quantization = document.object("quantization");
  read_modelopt(quantization, fresh);
  scheme = std::move(fresh);
}

}  // namespace shardplan
