#include "models/families/registry.h"

#include <algorithm>
#include <string>

#include "base/errors.h"
#include "base/suggest.h"
#include "models/families/readers.h"
#include "models/in_quotes.h"

namespace shardplan {
namespace {

constexpr std::array<std::string_view, 3> kMixtralProjections = {"w1", "w3", "w2"};
constexpr std::array<std::string_view, 2> kDeltaProjections = {"self_attn.q_proj", "self_attn.v_proj"};
constexpr std::array<std::string_view, 2> kMambaProjections = {"mixer.in_proj", "mixer.in_proj"};
constexpr std::array<std::string_view, 3> kFusedProjections = {"gate_up_proj", "gate_up_proj", "down_proj"};

bool contains(const std::vector<std::string_view>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

const ModelFamily* find_by_type(std::string_view type) {
  for (const ModelFamily& family : model_families()) {
    if (contains(family.model_types, type)) return &family;
  }
  return nullptr;
}

const ModelFamily* find_by_architecture(const std::vector<std::string>& architectures) {
  for (const ModelFamily& family : model_families()) {
    for (const std::string& name : architectures) {
      if (contains(family.architectures, name)) return &family;
    }
  }
  return nullptr;
}

std::vector<std::string> known_types() {
  std::vector<std::string> types;
  for (const ModelFamily& family : model_families()) {
    types.insert(types.end(), family.model_types.begin(), family.model_types.end());
  }
  return types;
}

}  // namespace

const std::vector<ModelFamily>& model_families() {
  static const std::vector<ModelFamily> families = {
      {"llama", "dense decoder with grouped attention (Llama 2, 3.x)", {"llama"}, {"LlamaForCausalLM"}, {}, read_llama},
      {"mistral",
       "as llama, every layer inside a sliding window",
       {"mistral"},
       {"MistralForCausalLM"},
       {},
       read_mistral},
      {"qwen2", "dense, biases on Q, K and V (Qwen2, Qwen2.5)", {"qwen2"}, {"Qwen2ForCausalLM"}, {}, read_qwen2},
      {"qwen3",
       "dense, norms on Q and K (Qwen3, text part of Qwen3-VL)",
       {"qwen3", "qwen3_vl_text"},
       {"Qwen3ForCausalLM"},
       {},
       read_qwen3},
      {"qwen2_moe",
       "mixture of experts with a gated shared expert (Qwen1.5-MoE, Qwen2-MoE)",
       {"qwen2_moe"},
       {"Qwen2MoeForCausalLM"},
       {.shared_experts = "shared_expert"},
       read_qwen2_moe},
      {"qwen3_moe",
       "mixture of experts, norms on Q and K (Qwen3-MoE, text part of Qwen3-VL-MoE)",
       {"qwen3_moe", "qwen3_vl_moe_text"},
       {"Qwen3MoeForCausalLM"},
       {},
       read_qwen3_moe},
      {"mixtral",
       "mixture of few, large experts (Mixtral)",
       {"mixtral"},
       {"MixtralForCausalLM"},
       {.ffn = "block_sparse_moe", .expert_projections = kMixtralProjections},
       read_mixtral},
      {"minimax_m2",
       "mixture of experts, norms over all heads, biased router (MiniMax-M2)",
       {"minimax_m2"},
       {"MiniMaxM2ForCausalLM"},
       {.ffn = "block_sparse_moe", .expert_projections = kMixtralProjections},
       read_minimax_m2},
      {"deepseek",
       "latent attention, dense layers first, shared experts (DeepSeek-V2, V3, R1, Kimi-K2); DSA (V3.2, GLM-5)",
       {"deepseek_v3", "deepseek_v2", "kimi_k2", "deepseek_v32", "glm_moe_dsa"},
       {"DeepseekV3ForCausalLM", "DeepseekV2ForCausalLM", "DeepseekV32ForCausalLM", "GlmMoeDsaForCausalLM"},
       {},
       read_deepseek},
      {"glm4_moe",
       "grouped attention, dense layers first, shared experts (GLM-4.5, 4.6, 4.7)",
       {"glm4_moe"},
       {"Glm4MoeForCausalLM"},
       {},
       read_glm4_moe},
      {"gpt_oss",
       "mixture of experts, sliding and full layers in turn, sinks, biases (gpt-oss)",
       {"gpt_oss"},
       {"GptOssForCausalLM"},
       {.experts = "experts", .expert_projections = kFusedProjections},
       read_gpt_oss},
      {"llama4",
       "experts in turn with dense layers, one per token; chunked attention (Llama-4)",
       {"llama4_text", "llama4"},
       {"Llama4ForConditionalGeneration", "Llama4ForCausalLM"},
       {.ffn = "feed_forward",
        .experts = "experts",
        .shared_experts = "shared_expert",
        .expert_projections = kFusedProjections,
        .dense_ffn = "feed_forward"},
       read_llama4},
      {"gemma3",
       "five sliding layers to a global one, norms after each block (Gemma-3)",
       {"gemma3_text", "gemma3"},
       {"Gemma3ForConditionalGeneration", "Gemma3ForCausalLM"},
       {},
       read_gemma3},
      {"gemma4",
       "sliding and global layers with head sizes of their own, norms after each block (Gemma-4)",
       {"gemma4_text", "gemma4"},
       {"Gemma4ForConditionalGeneration", "Gemma4ForCausalLM"},
       {.ffn = "", .experts = "experts.0", .shared_experts = "mlp"},
       read_gemma4},
      {"mimo", "Qwen2 with an MTP layer (MiMo-7B)", {"mimo"}, {"MiMoForCausalLM"}, {}, read_mimo},
      {"mimo_v2",
       "mixture of experts, full and sliding layers with KV heads of their own (MiMo-V2)",
       {"mimo_v2_flash"},
       {"MiMoV2FlashForCausalLM"},
       {},
       read_mimo_v2},
      {"step3",
       "mixture of small experts, one full layer in four (Step-3.5, Step-3.7)",
       {"step3p7", "step3p5"},
       {"Step3p7FlashForCausalLM", "Step3p5ForCausalLM"},
       {.ffn = "moe", .shared_experts = "share_expert"},
       read_step3},
      {"nemotron_nas",
       "blocks of searched widths, some without attention or FFN (Llama-Nemotron)",
       {"nemotron-nas"},
       {"DeciLMForCausalLM"},
       {},
       read_nemotron_nas},
      {"nemotron_h",
       "Mamba2, attention and FFN blocks in any order, latent experts (Nemotron-H, Nemotron-3)",
       {"nemotron_h"},
       {"NemotronHForCausalLM"},
       {.ffn = "mixer",
        .layers = "backbone.layers",
        .attention = "mixer",
        .dense_ffn = "mixer",
        .recurrent_in = kMambaProjections,
        .recurrent_out = "mixer.out_proj"},
       read_nemotron_h},
      {"qwen3_5",
       "gated delta nets and one gated attention layer in four (Qwen3-Next, Qwen3.5)",
       {"qwen3_5_text", "qwen3_5_moe_text", "qwen3_next"},
       {"Qwen3_5ForConditionalGeneration", "Qwen3_5MoeForConditionalGeneration", "Qwen3NextForCausalLM"},
       {.shared_experts = "shared_expert"},
       read_qwen3_5},
      {"kimi_linear",
       "Kimi delta attention and latent attention, latent experts (Kimi-Linear, Kimi-K3)",
       {"kimi_linear"},
       {"KimiLinearForCausalLM", "KimiK3ForConditionalGeneration"},
       {.ffn = "block_sparse_moe", .recurrent_in = kDeltaProjections, .recurrent_out = "self_attn.o_proj"},
       read_kimi_linear},
      {"deepseek_v4",
       "compressed attention beside a window, hyper-connections (DeepSeek-V4); counts alone",
       {"deepseek_v4", "deepseek_ref"},
       {"DeepseekV4ForCausalLM"},
       {.ffn = "ffn",
        .expert_projections = kMixtralProjections,
        .layers = "layers",
        .attention = "attn",
        .dense_ffn = "ffn"},
       read_deepseek_v4},
      {"minimax_m3",
       "grouped attention over blocks that an indexer chooses, shared expert (MiniMax-M3)",
       {"minimax_m3", "minimax_m3_vl_text"},
       {"MiniMaxM3ForCausalLM", "MiniMaxM3VLForConditionalGeneration"},
       {.ffn = "block_sparse_moe", .expert_projections = kMixtralProjections},
       read_minimax_m3},
      {"bloom",
       "dense, a KV head per query head, position biases, an FFN without a gate (BLOOM)",
       {"bloom"},
       {"BloomForCausalLM"},
       {},
       read_bloom},
  };
  return families;
}

const ModelFamily& require_family(JsonObject& config, JsonObject& outer) {
  const std::string type = config.string_or("model_type", outer.string_or("model_type", ""));
  if (type.empty()) {
    const ModelFamily* family = find_by_architecture(config.strings("architectures"));
    if (family != nullptr) return *family;
    throw InputError(config.where("model_type"), "is missing", nearest_hint("", known_types()));
  }
  if (const ModelFamily* family = find_by_type(type)) return *family;
  throw InputError(config.where("model_type"), "unknown model family " + in_quotes(type),
                   nearest_hint(type, known_types()));
}

}  // namespace shardplan
