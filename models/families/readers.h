// The reader of each family; models/families/registry.cc holds what it is called and matched by.
//
// Each reads the fields of a config.json that decide sizes, and throws InputError for one that is
// missing, of the wrong type or out of range. Formats stay unset.
#pragma once

#include "base/json.h"
#include "models/model_spec.h"

namespace shardplan {

[[nodiscard]] ModelSpec read_llama(JsonObject& config);
[[nodiscard]] ModelSpec read_mistral(JsonObject& config);
[[nodiscard]] ModelSpec read_qwen2(JsonObject& config);
[[nodiscard]] ModelSpec read_qwen3(JsonObject& config);
[[nodiscard]] ModelSpec read_qwen2_moe(JsonObject& config);
[[nodiscard]] ModelSpec read_qwen3_moe(JsonObject& config);
[[nodiscard]] ModelSpec read_mixtral(JsonObject& config);
[[nodiscard]] ModelSpec read_minimax_m2(JsonObject& config);
[[nodiscard]] ModelSpec read_glm4_moe(JsonObject& config);
[[nodiscard]] ModelSpec read_deepseek(JsonObject& config);
[[nodiscard]] ModelSpec read_gpt_oss(JsonObject& config);
[[nodiscard]] ModelSpec read_llama4(JsonObject& config);
[[nodiscard]] ModelSpec read_gemma3(JsonObject& config);
[[nodiscard]] ModelSpec read_gemma4(JsonObject& config);
[[nodiscard]] ModelSpec read_mimo(JsonObject& config);
[[nodiscard]] ModelSpec read_mimo_v2(JsonObject& config);
[[nodiscard]] ModelSpec read_step3(JsonObject& config);
[[nodiscard]] ModelSpec read_nemotron_nas(JsonObject& config);
[[nodiscard]] ModelSpec read_nemotron_h(JsonObject& config);
[[nodiscard]] ModelSpec read_qwen3_5(JsonObject& config);
[[nodiscard]] ModelSpec read_kimi_linear(JsonObject& config);
[[nodiscard]] ModelSpec read_deepseek_v4(JsonObject& config);
[[nodiscard]] ModelSpec read_minimax_m3(JsonObject& config);
[[nodiscard]] ModelSpec read_bloom(JsonObject& config);

}  // namespace shardplan
