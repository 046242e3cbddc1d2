// vLLM's own rules on sizes: what holds beyond the algebra. Wording follows vLLM's messages where it has one.
#include "planner/engines/engines.h"
#include "planner/engines/findings.h"

namespace shardplan {
namespace {

Finding dense_width(const RuleFacts& f) {
  return when(f.config.dense_tp > 0 && f.config.dense_tp != f.config.tp, f.config.dense_tp);
}

Finding shared_width(const RuleFacts& f) {
  return when(f.config.shared_expert_tp > 0 && f.config.shared_expert_tp != f.config.tp, f.config.shared_expert_tp);
}

// Every parallel family of the catalog implements SupportsPP; kept as a row for those that will not.
Finding pipeline(const RuleFacts& f) { return when(f.config.pp > f.model.layer_count()); }

std::vector<EngineRule> size_rules() {
  return {
      {"vllm_heads",
       {},
       Severity::kError,
       "Total number of attention heads ({q_heads}) must be divisible by tensor parallel size ({tp}).",
       heads_over_tp},
      // A dense model's dp ranks are reconfigured to 1 each and serve alone.
      {"vllm_dense_dp",
       {},
       Severity::kError,
       "dp {dpa} on a dense model makes {dpa} independent engines in vLLM: use replicas",
       dense_attention_dp},
      {"vllm_vocab",
       {},
       Severity::kError,
       "the vocabulary {vocab}, padded to {value}, does not divide by tensor parallel size {tp}",
       padded_vocab_over_tp},
      {"vllm_dense_tp",
       {},
       Severity::kError,
       "dense layers run at tensor parallel size {tp} in vLLM, not at {value}",
       dense_width},
      {"vllm_shared_tp",
       {},
       Severity::kError,
       "shared experts run at tensor parallel size {tp} in vLLM, not at {value}",
       shared_width},
      {"vllm_pp", {}, Severity::kError, "pipeline size {pp} exceeds the number of layers", pipeline},
      {"vllm_vision_heads",
       {},
       Severity::kWarning,
       "the image tower's {value} heads do not divide by tensor parallel size {tp}: every rank holds it whole "
       "(--mm-encoder-tp-mode data)",
       vision_heads_over_tp},
      {"vllm_tp_across_nodes",
       {},
       Severity::kWarning,
       "tensor parallel size {tp} leaves the {value}-GPU domain: every all-reduce crosses the network",
       tp_beyond_domain},
  };
}

// Sources: issues 44697 and 52069 (pipeline), 50391 (decode context parallel), SpeculativeConfig (modules).
std::vector<EngineRule> speculation_rules() {
  return {
      {"vllm_mtp_pipeline",
       {},
       Severity::kError,
       "MTP drafting does not start under pipeline parallelism (pp {pp}): a module is asked for SupportsPP",
       drafts_over_stages},
      {"vllm_mtp_dcp",
       {},
       Severity::kError,
       "speculative decoding is not supported with decode context parallelism (dcp {dcp})",
       drafts_over_positions},
      {"vllm_mtp_modules",
       {},
       Severity::kError,
       "num_speculative_tokens {value} must be divisible by n_predict {modules}",
       drafts_over_modules},
  };
}

}  // namespace

const std::vector<EngineRule>& vllm_rules() {
  static const std::vector<EngineRule> rules = joined_rules(
      {size_rules(), vllm_context_parallel_rules(), vllm_expert_rules(), vllm_alignment_rules(), speculation_rules()});
  return rules;
}

}  // namespace shardplan
