// Decode context parallelism: cached positions are striped over `dcp` ranks of the attention group.
//
// Every rank of the group needs the same Q (all-gather, unless W_Q is replicated there); partial outputs are merged by
// their log-sum-exp: O = sum_r exp(l_r - l) O_r. `ag_rs`: gather LSE, scale, reduce-scatter heads; `a2a`: one exchange.
// Sent per rank, f = (N-1)/N, M_Q = M_O = B*(h_q*dcp/tp)*d*b, M_L = B*(h_q*dcp/tp)*4:
//   ag_rs f*(M_Q+M_O) + (N-1)*M_L;   a2a f*(M_Q+M_O+M_L);   Q-replicate drops f*M_Q.
// KV heads are split tp/dcp ways, so dcp also removes the KV replication that tp > h_kv causes.
// Sparse attention: index keys are striped as the cache is. Each rank scores its own and names its best k with their
// scores; (N-1)*B*k*8 bytes gather all names, and the best k of N*k are those of the whole (a key among the best of all
// is among the best of its rank). Attention then reads the chosen positions that it holds. Compressed entries are
// striped as entries, so that an entry lies on one rank; compressors and their states are the same on all.
// Sources: exact merge of vLLM's and SGLang's sparse MLA under DCP (vllm 46145, sglang 31821), DeepSeek-V4's (sglang 37407).
#include <fmt/format.h>

#include "costmodel/lowering/modules.h"

namespace shardplan {
namespace {

void check(const ModelSpec&, const ParallelConfig& c, std::vector<Violation>& out) {
  if (c.variant.cp_interleave < 1) out.push_back({"cp_interleave", "the interleave of cached positions must be at least 1"});
  if (c.dcp == 1) {
    if (c.variant.q_replicate) out.push_back({"q_replicate_needs_dcp", "Q-replicate needs dcp > 1"});
    return;
  }
  if (c.pcp == 1 && c.tp % c.dcp != 0) {
    out.push_back({"dcp_divides_tp", fmt::format("dcp {} must divide tp {}: it splits positions over ranks of the attention group", c.dcp, c.tp)});
  }
  if (c.pcp > 1 && c.dcp != c.pcp && c.dcp != c.tp * c.pcp) {
    out.push_back({"dcp_over_pcp", fmt::format("with pcp {} and tp {}, dcp must be 1, {} or {}", c.pcp, c.tp, c.pcp, c.tp * c.pcp)});
  }
  if (c.pcp > 1 && (c.variant.dcp_comm == DcpComm::kA2a || c.variant.q_replicate)) {
    out.push_back({"dcp_over_pcp_comm", "with pcp > 1 partial attention is merged by ag_rs, without Q-replicate"});
  }
}

void apply(const StrategyContext& context, Strategy& s) {
  const Variant& v = context.config.variant;
  if (context.config.dcp == 1) return;
  s.cp_interleave = v.cp_interleave;
  s.exchange_lse = v.dcp_comm == DcpComm::kA2a;
  s.rows.push_back({Part::kAttention, "", Dim::kPositions, s.axes.cp, Layout::kStriped});
  // The cached latent of a prefill's prefix is gathered before it is expanded to heads.
  s.pins.push_back({"prefix_latent", Dim::kPositions, {}});
  // Every rank of the group attends with all of the group's query heads.
  s.rows.push_back({Part::kAttention, "w_sinks", Dim::kHeads, s.axes.heads, Layout::kContiguous, true});
  if (!v.q_replicate) return;
  for (const char* name : {"w_q", "b_q", "w_q_norm", "w_q_b", "w_uk"}) {
    s.rows.push_back({Part::kAttention, name, Dim::kHeads, s.axes.heads, Layout::kContiguous, true});
  }
  s.pins.push_back({"q_prefill", Dim::kHeads, s.axes.tp});   // prefill attends to its own heads only
}

}  // namespace

StrategyModule decode_context_parallel_module() {
  return {"decode_context_parallel", "cached positions striped over ranks, outputs merged by log-sum-exp", check, apply};
}

}  // namespace shardplan
