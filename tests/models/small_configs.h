// Small config.json texts for tests: real shapes, one or two layers, and keys that a test adds.
#pragma once

#include <string>

#include "models/model_config.h"

namespace shardplan {

// Two dense layers; `extra` is appended to the object, as in ", \"head_dim\": 16".
inline std::string small_llama(const std::string& extra = "") {
  return R"({"model_type": "llama", "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
             "num_key_value_heads": 2, "intermediate_size": 128, "vocab_size": 1000)" +
         extra + "}";
}

// One dense layer and three with 8 experts; latent attention.
inline std::string small_deepseek(const std::string& extra = "") {
  return R"({"model_type": "deepseek_v3", "hidden_size": 256, "num_hidden_layers": 4, "num_attention_heads": 4,
             "q_lora_rank": 64, "kv_lora_rank": 32, "qk_nope_head_dim": 16, "qk_rope_head_dim": 8, "v_head_dim": 16,
             "intermediate_size": 512, "moe_intermediate_size": 128, "n_routed_experts": 8, "num_experts_per_tok": 2,
             "n_shared_experts": 1, "first_k_dense_replace": 1, "vocab_size": 1000, "topk_method": "noaux_tc")" +
         extra + "}";
}

inline ModelSpec read_small(const std::string& config, const std::string& quantization = "") {
  return read_model_config(config, quantization, "config.json");
}

}  // namespace shardplan
