// The model families: how a config.json of each becomes layers.
//
// A family is one file that reads sizes and one row here; number formats are read apart
// (models/quantization). Rows are found by "model_type", or by "architectures" where that is absent.
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "models/model_spec.h"

namespace shardplan {

// How the checkpoints of a family call the modules that quantisation configs name.
struct ModuleNames {
  std::string_view ffn = "mlp";            // of experts, below <layers>.<i>
  std::string_view experts = "experts.0";  // below the ffn; one expert stands for all
  std::string_view shared_experts = "shared_experts";
  std::array<std::string_view, 3> expert_projections = {"gate_proj", "up_proj", "down_proj"};
  std::string_view layers = "model.layers";
  std::string_view attention = "self_attn";
  std::string_view dense_ffn = "mlp";
  std::array<std::string_view, 2> recurrent_in = {"linear_attn.in_proj_qkv", "linear_attn.in_proj_z"};
  std::string_view recurrent_out = "linear_attn.out_proj";
};

struct ModelFamily {
  std::string_view name;
  std::string_view help;  // one line for listings
  std::vector<std::string_view> model_types;
  std::vector<std::string_view> architectures;
  ModuleNames modules;
  ModelSpec (*read)(JsonObject& config);  // sizes and layers; no formats, no name
};

[[nodiscard]] const std::vector<ModelFamily>& model_families();

// The family of `config`, or of the `outer` object it is nested in (the same object when it is not);
// InputError naming the nearest known model_type otherwise.
[[nodiscard]] const ModelFamily& require_family(JsonObject& config, JsonObject& outer);

}  // namespace shardplan
