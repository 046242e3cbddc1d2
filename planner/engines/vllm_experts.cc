// vLLM's rules on experts: the FFN uses dp x pcp x tp ranks, with whole experts (-ep) or slices, nothing between.
//
// All2all backends act only where tokens differ between ranks: dp > 1 (or pcp > 1). With dp = pcp = 1 every rank has
// all tokens, so EP ends in a plain all-reduce. Redundant experts need EPLB, which needs EP.
#include "planner/engines/engines.h"
#include "planner/engines/findings.h"

namespace shardplan {
namespace {

bool has_experts(const RuleFacts& f) { return has_experts_over_ranks(f); }

Finding ep_size(const RuleFacts& f) {
  return when(has_experts(f) && f.config.ep > 1 && f.config.ep != f.config.stage_ranks(), f.config.ep);
}

Finding sliced_with_ep(const RuleFacts& f) { return when(has_experts(f) && f.config.ep > 1 && f.config.moe_tp > 1); }

// --enable-elastic-ep scales by POST /scale_elastic_ep {"new_data_parallel_size": n}.
Finding elastic_without_dp(const RuleFacts& f) { return when(f.config.variant.elastic_ep && f.config.dpa == 1, f.config.dpa); }

bool moves_tokens(const RuleFacts& f) { return f.config.dpa > 1 || (f.config.pcp > 1 && f.config.ep > 1); }

// A token crosses to other ranks' experts by the EP group's collectives; which ones depends on dp.
Finding all2all_without_dp(const RuleFacts& f) {
  return when(has_experts(f) && !moves_tokens(f) && f.config.variant.moe_comm != MoeComm::kReplicated);
}

Finding replicated_with_dp(const RuleFacts& f) {
  return when(has_experts(f) && moves_tokens(f) && f.config.variant.moe_comm == MoeComm::kReplicated);
}

std::vector<EngineRule> exchange_rules() {
  return {
      {"vllm_ep_size",
       {},
       Severity::kError,
       "the expert parallel size is not settable in vLLM: ep is dp x pcp x tp = {stage} or 1, not {value}",
       ep_size},
      {"vllm_moe_tp_with_ep",
       {},
       Severity::kError,
       "vLLM slices experts only without --enable-expert-parallel: moe_tp {moe_tp} with ep {ep}",
       sliced_with_ep},
      {"vllm_moe_dp", {}, Severity::kError, "vLLM has no MoE data parallelism: moe_dp {value} must be 1", moe_dp_asked},
      {"vllm_all2all_needs_dp",
       {},
       Severity::kError,
       "with dp = pcp = 1 the all2all backend is ignored: experts end in an all-reduce (replicated)",
       all2all_without_dp},
      {"vllm_dp_needs_all2all",
       {},
       Severity::kError,
       "with dp {dpa} tokens reach experts by all2all or all-gather, not replicated",
       replicated_with_dp},
  };
}

// Which experts lie where, and how many tokens they take.
std::vector<EngineRule> slot_rules() {
  return {
      {"vllm_capacity_factor",
       {},
       Severity::kError,
       "experts in vLLM take every token that picks them: it has no capacity factor when it serves",
       capacity_asked},
      {"vllm_elastic_dp",
       {},
       Severity::kError,
       "--enable-elastic-ep adds and removes data-parallel ranks: it starts from 2 or more, not {value}",
       elastic_without_dp},
      {"vllm_eplb_needs_ep",
       {},
       Severity::kError,
       "{redundant} redundant experts need --enable-expert-parallel",
       redundant_without_ep},
      {"vllm_eplb_divides",
       {},
       Severity::kError,
       "{experts} experts + {redundant} redundant do not divide by ep {value}",
       redundant_over_ep},
      // Legal without EPLB; kernels that assume equal shards fail (issue 52435).
      {"vllm_uneven_experts",
       {},
       Severity::kWarning,
       "{experts} experts over ep {value} leave unequal shards, which some MoE kernels refuse",
       experts_over_ep},
      {"vllm_overlap",
       {},
       Severity::kError,
       "chunked or fused expert overlap is not in vLLM (it has --enable-dbo)",
       chunked_or_fused_overlap},
      {"vllm_dbo_backend",
       {},
       Severity::kError,
       "dual-batch overlap needs an all2all backend (DeepEP)",
       two_batch_without_all_to_all},
  };
}

}  // namespace

std::vector<EngineRule> vllm_expert_rules() { return joined_rules({exchange_rules(), slot_rules()}); }

}  // namespace shardplan
