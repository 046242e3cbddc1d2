// SGLang's rules. tp below is the attention's; --tp-size is tp x pcp x dpa ({stage}).
//
// Sources: argument checks of SGLang around 0.5.20; issues 3491, 4791, 10641 (FP8 blocks), 31821 (dcp), 3436 (vocab).
#include <algorithm>

#include "costmodel/lowering/modules.h"
#include "planner/engines/engines.h"
#include "planner/engines/findings.h"

namespace shardplan {
namespace {

Finding dense_width_of_stage(const RuleFacts& f) {
  if (!f.model.is_moe() && f.config.dpa == 1) return std::nullopt;
  const std::int64_t width = dense_width(f.model, f.config);
  const bool dense = std::any_of(f.model.kinds.begin(), f.model.kinds.end(),
                                 [](const LayerKind& kind) { return kind.ffn.kind == FfnKind::kDense; });
  return when(dense && width != 1 && width != f.config.stage_ranks(), width);
}

Finding pcp_dcp(const RuleFacts& f) { return when(f.config.pcp > 1 && f.config.dcp > 1, f.config.dcp); }

// V3.2's indexer takes interleaved (striped) prompts; others are laid out zigzag.
Finding pcp_layout(const RuleFacts& f) {
  if (f.config.pcp == 1) return std::nullopt;
  const bool sparse = attention_of(f.model).index.top_k > 0;
  const PcpLayout wanted = sparse ? PcpLayout::kStriped : PcpLayout::kZigzag;
  return when(f.config.variant.pcp_layout != wanted);
}

Finding pcp_recurrent(const RuleFacts& f) {
  return when(f.config.pcp > 1 && (f.model.has_window() ||
                                   std::any_of(f.model.kinds.begin(), f.model.kinds.end(), [](const LayerKind& kind) {
                                     return kind.attention.kind == AttentionKind::kRecurrent;
                                   })));
}

Finding dcp_window(const RuleFacts& f) { return when(f.config.dcp > 1 && f.model.has_window()); }

Finding dcp_block_sparse(const RuleFacts& f) {
  const AttentionSpec& attention = attention_of(f.model);
  return when(f.config.dcp > 1 && attention.kind == AttentionKind::kGrouped && attention.index.top_k > 0);
}

Finding all_to_all_whole_stage(const RuleFacts& f) {
  return when(has_experts_over_ranks(f) && f.config.variant.moe_comm == MoeComm::kAllToAll &&
                  f.config.ep != f.config.stage_ranks(),
              f.config.ep);
}

// Prompts split over attn cp meet experts that are not repeated there.
bool gathers(const RuleFacts& f) { return f.config.dpa > 1 || (f.config.pcp > 1 && f.config.moe_dp == 1); }

Finding gathered_without_dp(const RuleFacts& f) {
  return when(has_experts_over_ranks(f) && !gathers(f) && f.config.variant.moe_comm == MoeComm::kAllGather);
}

Finding replicated_with_dp(const RuleFacts& f) {
  return when(has_experts_over_ranks(f) && gathers(f) && f.config.variant.moe_comm == MoeComm::kReplicated);
}

Finding moe_dp_pipeline(const RuleFacts& f) { return when(f.config.moe_dp > 1 && f.config.pp > 1, f.config.moe_dp); }

Finding moe_dp_fills(const RuleFacts& f) {
  return when(f.config.moe_dp > 1 && f.config.ep > 1 && f.config.moe_tp > 1, f.config.moe_tp);
}

Finding moe_dp_prompts(const RuleFacts& f) {
  return when(f.config.moe_dp > 1 && f.config.moe_dp != f.config.pcp, f.config.moe_dp);
}

Finding moe_dp_attention(const RuleFacts& f) { return when(f.config.moe_dp > 1 && f.config.dpa > 1, f.config.moe_dp); }

Finding two_batch_pipeline(const RuleFacts& f) {
  return when(f.config.variant.overlap == Overlap::kTwoBatch && f.config.pp > 1);
}

std::vector<EngineRule> size_rules() {
  const auto error = Severity::kError;
  return {
      {"sglang_heads",
       {},
       error,
       "{q_heads} attention heads do not divide by attention tp {tp} (--tp-size / dp / attn cp)",
       heads_over_tp},
      {"sglang_vocab",
       {},
       error,
       "the vocabulary {vocab}, padded to {value}, does not divide by attention tp {tp}",
       padded_vocab_over_tp},
      {"sglang_dense_tp",
       {},
       error,
       "dense layers run over all {stage} GPUs of a stage or whole on each (--moe-dense-tp-size 1), not over {value}",
       dense_width_of_stage},
      {"sglang_tp_across_nodes",
       {},
       Severity::kWarning,
       "attention tp {tp} leaves the {value}-GPU domain: every all-reduce crosses the network",
       tp_beyond_domain},
  };
}

std::vector<EngineRule> context_rules() {
  const auto error = Severity::kError;
  return {
      {"sglang_no_helix",
       {},
       error,
       "Helix is not in SGLang: --dcp-comm-backend a2a with --dcp-replicate-q-proj is near",
       helix_asked},
      {"sglang_no_hop_b", {}, error, "HOP-B ({value} parts) is not in SGLang", hop_b_asked},
      // Checked against --tp-size only; the attention's width has to hold too (issue 31821).
      {"sglang_dcp_divides", {}, error, "attention tp {tp} must be divisible by --dcp-size {dcp}", dcp_over_tp},
      {"sglang_dcp_window", {}, error, "--dcp-size {dcp} is not for sliding-window layers", dcp_window},
      {"sglang_dcp_block_sparse", {}, error, "--dcp-size {dcp} serves sparse MLA, not block-sparse GQA", dcp_block_sparse},
      {"sglang_pcp_with_dcp", {}, error, "--attn-cp-size {pcp} and --dcp-size {value} are not used together", pcp_dcp},
      {"sglang_pcp_all_gather",
       {},
       error,
       "--enable-prefill-cp gathers K and V; ring and all-to-all exchanges are not in it",
       pcp_not_gathered},
      {"sglang_pcp_strategy",
       {},
       error,
       "--cp-strategy is interleave (striped) for sparse MLA and zigzag for other models",
       pcp_layout},
      {"sglang_pcp_layers",
       {},
       error,
       "--enable-prefill-cp {pcp} has no backend for sliding-window or recurrent layers",
       pcp_recurrent},
  };
}

Finding elastic_groups(const RuleFacts& f) { return when(f.config.variant.elastic_ep && f.config.tp * f.config.pcp > 1); }

Finding elastic_gathers(const RuleFacts& f) {
  return when(f.config.variant.elastic_ep && f.config.variant.moe_comm != MoeComm::kAllToAll);
}

std::vector<EngineRule> expert_rules() {
  const auto error = Severity::kError;
  return {
      {"sglang_a2a_forces_ep",
       {},
       error,
       "a --moe-a2a-backend forces --ep-size = --tp-size {stage}, not {value}",
       all_to_all_whole_stage},
      {"sglang_gather_needs_dp",
       {},
       error,
       "without attention DP or CP every rank has all tokens: experts end in an all-reduce (replicated)",
       gathered_without_dp},
      {"sglang_dp_gathers",
       {},
       error,
       "with attention DP {dpa} or CP {pcp} tokens are gathered for the experts or sent by an a2a backend, not "
       "replicated",
       replicated_with_dp},
      {"sglang_moe_dp_pp", {}, error, "--moe-dp-size {value} needs --pp-size 1", moe_dp_pipeline},
      {"sglang_moe_dp_ep",
       {},
       error,
       "with --ep-size {ep} and --moe-dp-size {moe_dp} nothing is left to slice experts: moe_tp {value} must be 1",
       moe_dp_fills},
      {"sglang_moe_dp_cp", {}, error, "--moe-dp-size {value} must equal --attn-cp-size {pcp}", moe_dp_prompts},
      {"sglang_moe_dp_attention",
       {},
       error,
       "--moe-dp-size {value} is not combined with attention DP {dpa}",
       moe_dp_attention},
  };
}

// Which experts lie where, and how many tokens they take.
std::vector<EngineRule> expert_slot_rules() {
  const auto error = Severity::kError;
  return {
      {"sglang_capacity_factor",
       {},
       error,
       "experts in SGLang take every token that picks them: it has no capacity factor when it serves",
       capacity_asked},
      {"sglang_elastic_groups",
       {},
       error,
       "--elastic-ep-backend scales where dp = ep = tp: each GPU an attention group of its own, not tp {tp} and pcp {pcp}",
       elastic_groups},
      {"sglang_elastic_a2a",
       {},
       error,
       "--elastic-ep-backend scales where an a2a backend (nixl) sends tokens to experts",
       elastic_gathers},
      {"sglang_eplb_needs_ep", {}, error, "{redundant} redundant experts need --ep-size > 1", redundant_without_ep},
      {"sglang_eplb_divides",
       {},
       error,
       "{experts} experts + {redundant} redundant do not divide by --ep-size {value}",
       redundant_over_ep},
      {"sglang_ep_divides",
       {},
       error,
       "{experts} experts do not divide by --ep-size {value}: add --ep-num-redundant-experts",
       experts_over_ep},
      {"sglang_overlap",
       {},
       error,
       "chunked or fused expert overlap is not in SGLang (it has --enable-two-batch-overlap)",
       chunked_or_fused_overlap},
      {"sglang_tbo_backend", {}, error, "two-batch overlap needs an a2a backend", two_batch_without_all_to_all},
      {"sglang_tbo_pp",
       {},
       error,
       "two-batch overlap needs --pp-size 1: pipelines turn the overlap schedule off",
       two_batch_pipeline},
  };
}

std::vector<EngineRule> alignment_rules() {
  const auto error = Severity::kError;
  return {
      {"sglang_fp8_block_experts",
       {},
       error,
       "an expert's width per rank = {value} is not divisible by block_n = 128 (moe_tp {moe_tp}; ep = tp keeps experts "
       "whole)",
       fp8_block_experts},
      {"sglang_fp8_block_dense",
       {},
       error,
       "the dense FFN's width per rank = {value} is not divisible by block_n = 128 (--moe-dense-tp-size 1 under "
       "attention DP keeps it whole)",
       fp8_block_dense},
      {"sglang_fp8_block_attention",
       {},
       error,
       "the input of o_proj per rank = {value} is not divisible by block_k = 128 (attention tp {tp})",
       fp8_block_attention},
      {"sglang_marlin_dense",
       {},
       error,
       "the input of down per rank = {value} is not divisible by Marlin's 128",
       marlin_dense},
      {"sglang_marlin_experts",
       {},
       error,
       "an expert's width per rank = {value} is not divisible by Marlin's 128 (moe_tp {moe_tp})",
       marlin_experts},
  };
}

std::vector<EngineRule> speculation_rules() {
  return {
      {"sglang_mtp_pipeline",
       {},
       Severity::kError,
       "speculative decoding is off under pipeline parallelism (--pp-size {pp})",
       drafts_over_stages},
  };
}

}  // namespace

const std::vector<EngineRule>& sglang_rules() {
  static const std::vector<EngineRule> rules =
      joined_rules({size_rules(), context_rules(), expert_rules(), expert_slot_rules(), alignment_rules(), speculation_rules()});
  return rules;
}

}  // namespace shardplan
