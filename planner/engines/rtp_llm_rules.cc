// RTP-LLM's rules. Sources: its parallel configuration and the list of its model classes.
#include "planner/engines/engines.h"
#include "planner/engines/findings.h"

namespace shardplan {
namespace {

Finding unknown_family(const RuleFacts& f) {
  static const std::vector<std::string_view> kServed{"llama",     "qwen2",       "qwen3",      "qwen2_moe",
                                                     "qwen3_moe", "mixtral",     "minimax_m2", "deepseek",
                                                     "gemma4",    "kimi_linear", "qwen3_5",    "deepseek_v4"};
  return when(!is_one_of(f.model.family, kServed));
}

Finding pipeline(const RuleFacts& f) { return when(f.config.pp > 1, f.config.pp); }
Finding pcp(const RuleFacts& f) { return when(f.config.pcp > 1, f.config.pcp); }
Finding dcp(const RuleFacts& f) { return when(f.config.dcp > 1, f.config.dcp); }

Finding ep_size(const RuleFacts& f) {
  return when(has_experts_over_ranks(f) && f.config.ep > 1 && f.config.ep != f.config.stage_ranks(), f.config.ep);
}

Finding sliced_with_dp(const RuleFacts& f) {
  return when(has_experts_over_ranks(f) && f.config.ep == 1 && f.config.dpa > 1, f.config.dpa);
}

Finding replicated(const RuleFacts& f) {
  return when(has_experts_over_ranks(f) && f.config.dpa > 1 && f.config.variant.moe_comm == MoeComm::kReplicated);
}

Finding moved_without_dp(const RuleFacts& f) {
  return when(has_experts_over_ranks(f) && f.config.dpa == 1 && f.config.variant.moe_comm == MoeComm::kAllGather);
}

Finding overlap(const RuleFacts& f) { return when(f.config.variant.overlap != Overlap::kNone); }

Finding dense_width(const RuleFacts& f) {
  return when(f.config.dense_tp > 0 && f.config.dense_tp != f.config.tp, f.config.dense_tp);
}

std::vector<EngineRule> size_rules() {
  const auto error = Severity::kError;
  return {
      {"rtp_llm_family", {}, error, "RTP-LLM has no class for such a model", unknown_family},
      {"rtp_llm_no_pp", {}, error, "RTP-LLM has no pipeline parallelism: pp {value} must be 1", pipeline},
      {"rtp_llm_no_pcp",
       {},
       error,
       "prompts over {value} ranks: cp_rotate_method turns the tp group of a prefill server into a context-parallel "
       "one, which a server that also decodes cannot be",
       pcp},
      {"rtp_llm_no_dcp",
       {},
       error,
       "RTP-LLM does not split cached positions over ranks while it decodes: dcp {value} must be 1",
       dcp},
      {"rtp_llm_heads", {}, error, "{q_heads} attention heads do not divide by tp_size {tp}", heads_over_tp},
      {"rtp_llm_vocab",
       {},
       error,
       "the vocabulary {vocab}, padded to {value}, does not divide by tp_size {tp}",
       padded_vocab_over_tp},
      {"rtp_llm_dense_dp",
       {},
       error,
       "dp_size {value} on a dense model copies the whole model: use replicas",
       dense_attention_dp},
      {"rtp_llm_dense_tp", {}, error, "dense layers run at tp_size {tp}, not at {value}", dense_width},
  };
}

std::vector<EngineRule> expert_rules() {
  const auto error = Severity::kError;
  return {
      {"rtp_llm_ep_size", {}, error, "ep_size must be 1 or tp_size x dp_size = {stage}, not {value}", ep_size},
      {"rtp_llm_ep1_needs_dp1",
       {},
       error,
       "ep_size 1 slices experts over tp only, with dp_size 1, not {value}",
       sliced_with_dp},
      {"rtp_llm_moe_dp", {}, error, "RTP-LLM has no MoE data parallelism: moe_dp {value} must be 1", moe_dp_asked},
      {"rtp_llm_dp_moves_tokens",
       {},
       error,
       "with dp_size {dpa} tokens reach experts by DeepEP or all-gather, not replicated",
       replicated},
      {"rtp_llm_gather_needs_dp",
       {},
       error,
       "with dp_size 1 every rank has all tokens: experts end in an all-reduce (replicated), or DeepEP sends them",
       moved_without_dp},
      {"rtp_llm_capacity_factor",
       {},
       error,
       "experts in RTP-LLM take every token that picks them: it has no capacity factor when it serves",
       capacity_asked},
      {"rtp_llm_elastic_ep",
       {},
       error,
       "RTP-LLM has no elastic expert parallelism: its ranks are fixed at the start",
       elastic_asked},
      {"rtp_llm_redundant_needs_ep", {}, error, "{redundant} redundant experts need ep_size > 1", redundant_without_ep},
      {"rtp_llm_redundant_divides",
       {},
       error,
       "{experts} experts + redundant_expert {redundant} do not divide by ep_size {value}",
       redundant_over_ep},
      {"rtp_llm_ep_divides", {}, error, "{experts} experts do not divide by ep_size {value}", experts_over_ep},
      {"rtp_llm_overlap",
       {},
       error,
       "overlap of expert communication with compute is not planned for RTP-LLM",
       overlap},
  };
}

std::vector<EngineRule> block_rules() {
  const auto error = Severity::kError;
  return {
      {"rtp_llm_fp8_block_experts",
       {},
       error,
       "an expert's width per rank = {value} is not divisible by the 128 of a scale block (moe_tp {moe_tp})",
       fp8_block_experts},
      {"rtp_llm_fp8_block_dense",
       {},
       error,
       "the dense FFN's width per rank = {value} is not divisible by the 128 of a scale block (tp_size {tp})",
       fp8_block_dense},
      {"rtp_llm_fp8_block_shared",
       {},
       error,
       "the shared experts' width per rank = {value} is not divisible by the 128 of a scale block",
       fp8_block_shared},
      {"rtp_llm_fp8_block_attention",
       {},
       error,
       "the input of o_proj per rank = {value} is not divisible by the 128 of a scale block (tp_size {tp})",
       fp8_block_attention},
      {"rtp_llm_tp_across_nodes",
       {},
       Severity::kWarning,
       "tp_size {tp} leaves the {value}-GPU domain: every all-reduce crosses the network",
       tp_beyond_domain},
  };
}

}  // namespace

const std::vector<EngineRule>& rtp_llm_rules() {
  static const std::vector<EngineRule> rules = joined_rules({size_rules(), expert_rules(), block_rules()});
  return rules;
}

}  // namespace shardplan
