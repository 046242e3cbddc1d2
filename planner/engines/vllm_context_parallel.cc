// vLLM's rules on context parallelism.
//
// DCP (decode) takes ranks of the tensor-parallel group and, for GQA, only as many as hold copies of the same KV head
// (ValueErrors since PR 49777). PCP (prefill) is for MLA, without pipeline stages, gathers K and V in zigzag order
// (DualChunkSwap), and up to 0.30 without data parallelism.
#include <algorithm>

#include "planner/engines/engines.h"
#include "planner/engines/findings.h"

namespace shardplan {
namespace {

bool is_grouped(const RuleFacts& f) { return has_grouped_attention(f); }
bool uses_dcp(const RuleFacts& f) { return f.config.dcp > 1; }

Finding dcp_without_copies(const RuleFacts& f) {
  return when(uses_dcp(f) && is_grouped(f) && f.config.pcp == 1 && f.config.tp <= attention_of(f.model).kv_heads);
}

Finding dcp_beyond_copies(const RuleFacts& f) {
  const std::int64_t copies = f.config.tp / std::max<std::int64_t>(1, attention_of(f.model).kv_heads);
  return when(uses_dcp(f) && is_grouped(f) && f.config.pcp == 1 && copies > 0 && f.config.dcp > copies, copies);
}

Finding dcp_query_groups(const RuleFacts& f) {
  const AttentionSpec& attention = attention_of(f.model);
  const std::int64_t per_kv = attention.q_heads / std::max<std::int64_t>(1, attention.kv_heads);
  return when(uses_dcp(f) && is_grouped(f) && per_kv % f.config.dcp != 0, per_kv);
}

Finding dcp_window(const RuleFacts& f) { return when(uses_dcp(f) && f.model.has_window()); }

// Sparse MLA merges the names of all ranks' best positions (pull requests 46145, 46178); block-sparse GQA has no such path.
Finding dcp_block_sparse(const RuleFacts& f) { return when(uses_dcp(f) && is_grouped(f) && attention_of(f.model).index.top_k > 0); }

Finding dcp_of_grouped_over_pcp(const RuleFacts& f) { return when(uses_dcp(f) && is_grouped(f) && f.config.pcp > 1); }

Finding a2a_over_pcp(const RuleFacts& f) {
  return when(uses_dcp(f) && f.config.pcp > 1 && f.config.variant.dcp_comm == DcpComm::kA2a);
}

Finding interleave(const RuleFacts& f) {
  const std::int64_t n = f.config.variant.cp_interleave;
  return when(uses_dcp(f) && (n > 16 || 16 % n != 0), n);
}

Finding pcp_grouped(const RuleFacts& f) { return when(f.config.pcp > 1 && is_grouped(f)); }
Finding pcp_pipeline(const RuleFacts& f) { return when(f.config.pcp > 1 && f.config.pp > 1); }
Finding pcp_data(const RuleFacts& f) { return when(f.config.pcp > 1 && f.config.dpa > 1); }

Finding pcp_layout(const RuleFacts& f) {
  return when(f.config.pcp > 1 && f.config.variant.pcp_layout != PcpLayout::kZigzag);
}

std::vector<EngineRule> decode_rules() {
  return {
      {"vllm_dcp_kv_heads",
       {},
       Severity::kError,
       "Decode context parallelism for GQA/MQA requires --tensor-parallel-size ({tp}) greater than the {kv_heads} KV "
       "heads",
       dcp_without_copies},
      {"vllm_dcp_max",
       {},
       Severity::kError,
       "dcp {dcp} exceeds the maximum supported value {value}: tp {tp} // {kv_heads} KV heads",
       dcp_beyond_copies},
      {"vllm_dcp_query_groups",
       {},
       Severity::kError,
       "{value} query heads per KV head must be divisible by dcp {dcp}",
       dcp_query_groups},
      {"vllm_dcp_divides_tp", {}, Severity::kError, "tp {tp} must be divisible by dcp {dcp}", dcp_over_tp},
      {"vllm_dcp_window",
       {},
       Severity::kError,
       "decode context parallelism is refused for models with sliding-window or chunked attention",
       dcp_window},
      {"vllm_dcp_block_sparse",
       {},
       Severity::kError,
       "decode context parallelism serves sparse MLA, not block-sparse GQA",
       dcp_block_sparse},
      {"vllm_dcp_over_pcp",
       {},
       Severity::kError,
       "dcp over pcp works for sparse MLA models only, not for GQA/MQA",
       dcp_of_grouped_over_pcp},
      {"vllm_dcp_a2a_over_pcp",
       {},
       Severity::kError,
       "with pcp {pcp} only --dcp-comm-backend ag_rs is allowed",
       a2a_over_pcp},
      {"vllm_cp_interleave",
       {},
       Severity::kError,
       "block size 16 must be a multiple of --cp-kv-cache-interleave-size {value}",
       interleave},
      {"vllm_no_helix",
       {},
       Severity::kError,
       "Helix is not in vLLM (nearest: --dcp-comm-backend a2a with --dcp-q-replicate)",
       helix_asked},
      {"vllm_no_hop_b", {}, Severity::kError, "HOP-B is not in vLLM: hop_b must be 1", hop_b_asked},
  };
}

std::vector<EngineRule> prefill_rules() {
  return {
      {"vllm_pcp_mla", {}, Severity::kError, "MRV2 PCP currently supports MLA models only (pcp {pcp})", pcp_grouped},
      {"vllm_pcp_pp", {}, Severity::kError, "MRV2 PCP does not support PP yet (pcp {pcp}, pp {pp})", pcp_pipeline},
      {"vllm_pcp_dp",
       {"", "0.31"},
       Severity::kError,
       "PCP does not support data parallelism yet (pcp {pcp}, dp {dpa})",
       pcp_data},
      {"vllm_pcp_all_gather",
       {},
       Severity::kError,
       "vLLM's PCP gathers K and V; ring and all-to-all exchanges are not in it",
       pcp_not_gathered},
      {"vllm_pcp_zigzag",
       {},
       Severity::kError,
       "vLLM's PCP lays prompts out in zigzag order (DualChunkSwap) only",
       pcp_layout},
  };
}

}  // namespace

std::vector<EngineRule> vllm_context_parallel_rules() { return joined_rules({decode_rules(), prefill_rules()}); }

}  // namespace shardplan
