// Helix: attention as KVP x TPA, everything from W_O on as one wide group on the same ranks.
//
// It is decode context parallelism with W_Q, W_K, W_V replicated over dcp and one exchange that turns partial O and LSE
// into Shard(heads) over all tp ranks: f*(M_O + M_L) sent, one collective. HOP-B cuts the batch so that one part's
// exchange hides behind the next part's attention. Source: Helix Parallelism, arXiv 2507.07120.
#include <fmt/format.h>

#include "costmodel/lowering/modules.h"

namespace shardplan {
namespace {

void check(const ModelSpec& model, const ParallelConfig& c, std::vector<Violation>& out) {
  if (c.variant.hop_b < 1) out.push_back({"hop_b", "HOP-B needs at least one part"});
  if (!c.variant.helix) {
    if (c.variant.hop_b > 1) out.push_back({"hop_b_needs_helix", "HOP-B overlaps Helix's exchange; set helix"});
    return;
  }
  if (c.dcp == 1 || c.pcp > 1) out.push_back({"helix_needs_dcp", "Helix shards positions over dcp > 1 ranks of one group, with pcp 1"});
  for (const LayerKind& kind : model.kinds) {
    if (kind.attention.kind == AttentionKind::kGrouped && c.dcp > 0 && c.tp / c.dcp > kind.attention.kv_heads) {
      out.push_back({"helix_kv_heads", fmt::format("Helix attention width tp/dcp = {} exceeds {} KV heads", c.tp / c.dcp, kind.attention.kv_heads)});
      return;
    }
  }
}

void apply(const StrategyContext& context, Strategy& s) {
  if (!context.config.variant.helix) return;
  s.exchange_lse = true;
  s.hop_b = context.config.variant.hop_b;
  for (const char* name : {"w_q", "b_q", "w_q_norm", "w_q_b", "w_uk"}) {
    s.rows.push_back({Part::kAttention, name, Dim::kHeads, s.axes.heads, Layout::kContiguous, true});
  }
  s.pins.push_back({"q_prefill", Dim::kHeads, s.axes.tp});
}

}  // namespace

StrategyModule helix_module() { return {"helix", "attention by positions, FFN by tensor, one exchange between", check, apply}; }

}  // namespace shardplan
