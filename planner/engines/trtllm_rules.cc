// TensorRT-LLM's rules. Without attention DP tensor_parallel_size is tp (Helix: tp/dcp, beside cp = dcp); with it, dpa.
//
// Sources: Mapping and llm_args of TensorRT-LLM main; the static index of its model zoo (families); PR 17796 (Helix).
#include <algorithm>

#include "planner/engines/engines.h"
#include "planner/engines/findings.h"

namespace shardplan {
namespace {

Finding unknown_family(const RuleFacts& f) {
  static const std::vector<std::string_view> kServed{
      "llama",      "mistral",  "qwen2",       "qwen3",       "qwen2_moe", "qwen3_moe", "mixtral",
      "minimax_m2", "deepseek", "gpt_oss",     "llama4",      "gemma4",    "step3",     "nemotron_nas",
      "nemotron_h", "qwen3_5",  "kimi_linear", "deepseek_v4", "minimax_m3"};
  return when(!is_one_of(f.model.family, kServed));
}

Finding attention_dp_width(const RuleFacts& f) { return when(f.config.dpa > 1 && f.config.tp > 1, f.config.tp); }

Finding dense_width(const RuleFacts& f) {
  return when(f.config.dense_tp > 0 && f.config.dense_tp != f.config.tp, f.config.dense_tp);
}

Finding pcp(const RuleFacts& f) { return when(f.config.pcp > 1, f.config.pcp); }
Finding dcp_without_helix(const RuleFacts& f) {
  return when(f.config.dcp > 1 && !f.config.variant.helix, f.config.dcp);
}

Finding helix_role(const RuleFacts& f) { return when(f.config.variant.helix && f.role != PoolRole::kDecode); }

Finding helix_divides(const RuleFacts& f) {
  if (!f.config.variant.helix) return std::nullopt;
  const FfnSpec* moe = moe_of(f.model);
  const std::int64_t ranks = f.config.tp;  // tp x cp in TensorRT-LLM's words
  return when(attention_of(f.model).q_heads % ranks != 0 || (moe != nullptr && moe->experts % ranks != 0), ranks);
}

Finding helix_attention_dp(const RuleFacts& f) { return when(f.config.variant.helix && f.config.dpa > 1); }

Finding helix_sparse(const RuleFacts& f) { return when(f.config.variant.helix && attention_of(f.model).index.top_k > 0); }

Finding all_to_all_needs_dp(const RuleFacts& f) {
  return when(has_experts_over_ranks(f) && f.config.dpa == 1 && f.config.variant.moe_comm != MoeComm::kReplicated);
}

Finding dp_moves_tokens(const RuleFacts& f) {
  return when(has_experts_over_ranks(f) && f.config.dpa > 1 && f.config.variant.moe_comm == MoeComm::kReplicated);
}

Finding all_to_all_slices(const RuleFacts& f) {
  return when(has_experts_over_ranks(f) && f.config.variant.moe_comm == MoeComm::kAllToAll && f.config.moe_tp > 1,
              f.config.moe_tp);
}

Finding overlap(const RuleFacts& f) { return when(f.config.variant.overlap != Overlap::kNone); }

Finding slices_outside(const RuleFacts& f) {
  return when(f.config.ep > 1 && f.config.moe_tp > 1 && !f.config.variant.ep_inner);
}

std::vector<EngineRule> attention_rules() {
  const auto error = Severity::kError;
  return {
      {"trtllm_family", {}, error, "the model zoo of TensorRT-LLM's PyTorch backend has no such model", unknown_family},
      {"trtllm_heads",
       {},
       error,
       "{q_heads} attention heads do not divide by tensor_parallel_size {tp}",
       heads_over_tp},
      {"trtllm_vocab",
       {},
       error,
       "the vocabulary {vocab}, padded to {value}, does not divide by tensor_parallel_size {tp}",
       padded_vocab_over_tp},
      {"trtllm_attention_dp",
       {},
       error,
       "attention DP is on every rank or none: dp = tensor_parallel_size, so tp {value} inside a group must be 1",
       attention_dp_width},
      {"trtllm_dense_dp",
       {},
       error,
       "attention DP {value} on a dense model copies the whole model: use replicas",
       dense_attention_dp},
      {"trtllm_dense_tp", {}, error, "dense layers run at the attention's width {tp}, not at {value}", dense_width},
      {"trtllm_no_pcp",
       {},
       error,
       "a prompt over {value} ranks with gathered or passed-on keys is not in the PyTorch backend (its cp types are "
       "Ulysses, Star and Helix)",
       pcp},
      {"trtllm_dcp_is_helix",
       {},
       error,
       "cached positions are split over {value} ranks by Helix only",
       dcp_without_helix},
      {"trtllm_helix_generation",
       {},
       error,
       "Helix runs in the generation server of a disaggregated deployment only, not in one that also takes prompts",
       helix_role},
      {"trtllm_helix_divides",
       {},
       error,
       "Helix: tp x cp = {value} must divide the {q_heads} heads and the {experts} experts",
       helix_divides},
      {"trtllm_helix_attention_dp", {}, error, "Helix is not combined with attention DP", helix_attention_dp},
      {"trtllm_helix_sparse", {}, error, "Helix is not combined with sparse attention: no indexer chooses among several ranks' positions", helix_sparse},
      {"trtllm_no_hop_b", {}, error, "HOP-B ({value} parts) is not in TensorRT-LLM", hop_b_asked},
      {"trtllm_tp_across_nodes",
       {},
       Severity::kWarning,
       "tensor_parallel_size {tp} leaves the {value}-GPU domain: every all-reduce crosses the network",
       tp_beyond_domain},
  };
}

std::vector<EngineRule> expert_rules() {
  const auto error = Severity::kError;
  return {
      {"trtllm_moe_dp", {}, error, "moe_tp x moe_ep must be all {stage} ranks: moe_dp {value} must be 1", moe_dp_asked},
      {"trtllm_moe_order",
       {},
       error,
       "ranks of moe_ep are neighbours in TensorRT-LLM: moe_tp strides over them",
       slices_outside},
      {"trtllm_a2a_needs_adp",
       {},
       error,
       "without attention DP every rank has all tokens: experts end in an all-reduce (replicated)",
       all_to_all_needs_dp},
      {"trtllm_adp_moves_tokens",
       {},
       error,
       "with attention DP {dpa} tokens reach experts by all-to-all or all-gather, not replicated",
       dp_moves_tokens},
      {"trtllm_a2a_whole_experts",
       {},
       error,
       "all-to-all needs whole experts: moe_tensor_parallel_size {value} must be 1",
       all_to_all_slices},
      {"trtllm_capacity_factor",
       {},
       error,
       "experts in TensorRT-LLM take every token that picks them: it has no capacity factor when it serves",
       capacity_asked},
      {"trtllm_elastic_ep",
       {},
       error,
       "TensorRT-LLM has no elastic expert parallelism: its ranks are fixed at the start",
       elastic_asked},
      {"trtllm_slots_need_ep",
       {},
       error,
       "{redundant} redundant expert slots need moe_expert_parallel_size > 1",
       redundant_without_ep},
      {"trtllm_slots_divide",
       {},
       error,
       "load_balancer.num_slots = {experts} + {redundant} does not divide by moe_expert_parallel_size {value}",
       redundant_over_ep},
      {"trtllm_ep_divides",
       {},
       error,
       "{experts} experts do not divide by moe_expert_parallel_size {value}: add slots (load_balancer.num_slots)",
       experts_over_ep},
      {"trtllm_overlap",
       {},
       error,
       "overlap of expert communication with compute is not a switch of TensorRT-LLM",
       overlap},
  };
}

std::vector<EngineRule> block_rules() {
  const auto error = Severity::kError;
  return {
      {"trtllm_fp8_block_experts",
       {},
       error,
       "an expert's width per rank = {value} is not divisible by the 128 of a scale block (moe_tp {moe_tp}; moe_ep "
       "keeps experts whole)",
       fp8_block_experts},
      {"trtllm_fp8_block_dense",
       {},
       error,
       "the dense FFN's width per rank = {value} is not divisible by the 128 of a scale block (tp {tp}; attention DP "
       "keeps it whole)",
       fp8_block_dense},
      {"trtllm_fp8_block_shared",
       {},
       error,
       "the shared experts' width per rank = {value} is not divisible by the 128 of a scale block",
       fp8_block_shared},
      {"trtllm_fp8_block_attention",
       {},
       error,
       "the input of o_proj per rank = {value} is not divisible by the 128 of a scale block (tp {tp})",
       fp8_block_attention},
  };
}

}  // namespace

const std::vector<EngineRule>& trtllm_rules() {
  static const std::vector<EngineRule> rules = joined_rules({attention_rules(), expert_rules(), block_rules()});
  return rules;
}

}  // namespace shardplan
