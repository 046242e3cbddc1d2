// compressed-tensors (llm-compressor): config_groups describe the weights and activations of the
// modules that they target; "Linear" targets every matrix.
#include <fmt/format.h>

#include <string>

#include "base/errors.h"
#include "models/in_quotes.h"
#include "models/quantization/methods.h"

namespace shardplan {
namespace {

// Name of the format of `weights`; `weight_only`: the group leaves activations alone.
std::string format_name(JsonObject& weights, bool weight_only) {
  const std::int64_t bits = weights.integer("num_bits", 1, 16);
  const std::string type = weights.string_or("type", "int");
  const std::string strategy = weights.string_or("strategy", "tensor");
  const std::int64_t group = weights.integer_or("group_size", -1, -1, 1 << 20);
  const std::string suffix = weight_only ? "_a16" : "";
  if (type == "int" && bits == 4 && group > 0) return fmt::format("int4_g{}", group);
  if (type == "int" && bits == 8) return "int8" + suffix;
  if (type == "float" && bits == 8)
    return strategy == "block" ? "fp8_block" : strategy == "channel" ? "fp8_channel" : "fp8";
  if (type == "float" && bits == 4) return (group == 32 ? "mxfp4" : "nvfp4") + suffix;
  return fmt::format("{}{} by {}", in_quotes(type), bits, in_quotes(strategy));
}

void read_group(JsonObject& group, QuantizationScheme& scheme) {
  std::optional<JsonObject> weights = group.object_if("weights");
  if (!weights) return;  // activations or the cache alone
  QuantizationRule rule;
  rule.format = &require_format(format_name(*weights, !group.has("input_activations")), weights->where());
  std::vector<std::string> targets = group.strings("targets");
  if (targets.empty()) targets = {"Linear"};
  for (const std::string& target : targets) {
    if (target == "Linear") {
      rule.every_linear = true;
    } else if (!rule.modules.add(target)) {
      scheme.notes.push_back("target " + in_quotes(target) + " not understood, taken to name nothing");
    }
  }
  scheme.rules.push_back(std::move(rule));
}

}  // namespace

void read_compressed_tensors(JsonObject& config, QuantizationScheme& scheme) {
  JsonObject groups = config.object("config_groups");
  for (const std::string& name : groups.unread_keys()) {
    JsonObject group = groups.object(name);
    read_group(group, scheme);
  }
  keep_modules(config, "ignore", scheme);
  if (std::optional<JsonObject> kv = config.object_if("kv_cache_scheme")) {
    scheme.kv_format = &require_kv_format(kv->integer("num_bits", 4, 8) == 8 ? "fp8" : "nvfp4", kv->where());
  }
}

}  // namespace shardplan
