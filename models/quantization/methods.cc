#include "models/quantization/methods.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>

#include "base/errors.h"
#include "base/suggest.h"
#include "models/in_quotes.h"

namespace shardplan {
namespace {

void keep_all_lists(JsonObject& config, QuantizationScheme& scheme) {
  for (const char* key : {"modules_to_not_convert", "ignored_layers", "ignore", "exclude_modules"})
    keep_modules(config, key, scheme);
}

void read_fp8(JsonObject& config, QuantizationScheme& scheme) {
  const Json* block = config.find("weight_block_size");
  if (block != nullptr && *block != Json::array({128, 128})) {
    throw InputError(config.where("weight_block_size"), "is no known block", "[128, 128], or none");
  }
  quantise_every_linear(scheme, require_format(block != nullptr ? "fp8_block" : "fp8", config.where()));
  keep_all_lists(config, scheme);
}

void read_fbgemm_fp8(JsonObject& config, QuantizationScheme& scheme) {
  quantise_every_linear(scheme, require_format("fp8_channel", config.where()));
  keep_all_lists(config, scheme);
}

// Experts alone, their biases and everything else as trained.
void read_mxfp4(JsonObject& config, QuantizationScheme& scheme) {
  QuantizationRule rule;
  rule.format = &require_format("mxfp4_a16", config.where());
  ensure(rule.modules.add("experts"), "a plain name is a known pattern");
  scheme.rules.push_back(std::move(rule));
  keep_all_lists(config, scheme);
}

void read_grouped_int4(JsonObject& config, QuantizationScheme& scheme) {
  (void)config.integer_or("bits", 4, 4, 4);
  const std::int64_t group = config.integer_or("group_size", 128, 1, 1 << 20);
  quantise_every_linear(scheme, require_format(fmt::format("int4_g{}", group), config.where("group_size")));
  keep_all_lists(config, scheme);
}

}  // namespace

const std::vector<QuantizationMethod>& quantization_methods() {
  static const std::vector<QuantizationMethod> methods = {
      {"fp8", "8-bit floats, per tensor or in blocks", read_fp8},
      {"fbgemm_fp8", "8-bit floats, a scale per output row", read_fbgemm_fp8},
      {"mxfp4", "experts in MXFP4 (gpt-oss)", read_mxfp4},
      {"modelopt", "NVIDIA ModelOpt: quant_algo names the format", read_modelopt},
      {"modelopt_fp4", "as modelopt", read_modelopt},
      {"compressed-tensors", "llm-compressor: config_groups describe the formats", read_compressed_tensors},
      {"awq", "4-bit integers in groups", read_grouped_int4},
      {"gptq", "4-bit integers in groups", read_grouped_int4},
  };
  return methods;
}

void keep_modules(JsonObject& config, std::string_view key, QuantizationScheme& scheme) {
  for (const std::string& pattern : config.strings(key)) {
    if (!scheme.kept.add(pattern))
      scheme.notes.push_back("pattern " + in_quotes(pattern) + " of " + std::string(key) +
                             " not understood, taken to name nothing");
  }
}

void quantise_every_linear(QuantizationScheme& scheme, const NumberFormat& format) {
  QuantizationRule rule;
  rule.every_linear = true;
  rule.format = &format;
  scheme.rules.push_back(std::move(rule));
}

void read_quantization_config(JsonObject& config, QuantizationScheme& scheme) {
  const bool is_modelopt = config.has("quant_algo");
  const std::string name = is_modelopt ? "modelopt" : config.string("quant_method");
  std::vector<std::string> names;
  for (const QuantizationMethod& method : quantization_methods()) {
    if (method.name == name) return method.read(config, scheme);
    names.emplace_back(method.name);
  }
  throw InputError(config.where("quant_method"), "unknown method " + in_quotes(name), nearest_hint(name, names));
}

}  // namespace shardplan
