// The quantisation methods that are understood, by "quant_method".
#pragma once

#include <string_view>
#include <vector>

#include "base/json.h"
#include "models/quantization/scheme.h"

namespace shardplan {

struct QuantizationMethod {
  std::string_view name;
  std::string_view help;  // one line for listings
  void (*read)(JsonObject& config, QuantizationScheme& scheme);
};

[[nodiscard]] const std::vector<QuantizationMethod>& quantization_methods();

// The readers behind the rows; each lives in a file of its own.
void read_compressed_tensors(JsonObject& config, QuantizationScheme& scheme);
void read_modelopt(JsonObject& config, QuantizationScheme& scheme);

// Adds the patterns of the array `key`, if any, to what is never quantised.
void keep_modules(JsonObject& config, std::string_view key, QuantizationScheme& scheme);

// Appends a rule: every matrix of the layers in `format`.
void quantise_every_linear(QuantizationScheme& scheme, const NumberFormat& format);

}  // namespace shardplan
