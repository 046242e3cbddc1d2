// How the weights of a checkpoint are quantised: which module is stored in which format.
//
// Read from "quantization_config" of a config.json and from a hf_quant_config.json. A module that is
// kept, or that no rule names, stays in the base format (torch_dtype).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "models/number_format.h"
#include "models/quantization/module_patterns.h"

namespace shardplan {

struct QuantizationRule {
  bool every_linear = false;  // all matrices of the layers, but routers, embedding and head
  ModulePatterns modules;     // otherwise: these
  const NumberFormat* format = nullptr;
};

struct QuantizationScheme {
  const NumberFormat* base = nullptr;
  std::vector<QuantizationRule> rules;      // the first that names a module decides
  ModulePatterns kept;                      // never quantised, whatever the rules say
  const NumberFormat* kv_format = nullptr;  // of the cache; nullptr: the config does not say
  std::vector<std::string> notes;

  // The format of a matrix inside the layers.
  [[nodiscard]] const NumberFormat& format_of_linear(std::string_view module) const;
  // The format of the head: quantised only where a rule names it.
  [[nodiscard]] const NumberFormat& format_of_head(std::string_view module) const;

 private:
  [[nodiscard]] const NumberFormat& format_of(std::string_view module, bool linear) const;
};

// Reads "quantization_config" (quant_method, or quant_algo of modelopt) into `scheme`. InputError for an
// unknown method or an unknown format.
void read_quantization_config(JsonObject& config, QuantizationScheme& scheme);

// Reads the document of a hf_quant_config.json into `scheme`, replacing what it held.
void read_hf_quant_config(JsonObject& document, QuantizationScheme& scheme);

}  // namespace shardplan
