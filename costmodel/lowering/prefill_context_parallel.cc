// Prefill context parallelism: a prompt's tokens are split over `pcp` ranks; weights are not.
//
// Queries stay, keys and values come: gathered at once, or block by block in a ring that hides them behind attention,
// or (all_to_all, Ulysses) positions are exchanged for heads. Layouts decide the causal balance: see causal_load.h.
// In decode every rank of the group repeats the step, unless dcp splits the cache over it.
#include <fmt/format.h>

#include "costmodel/lowering/modules.h"

namespace shardplan {
namespace {

Layout token_layout(PcpLayout layout) {
  switch (layout) {
    case PcpLayout::kContiguous: return Layout::kBlocked;
    case PcpLayout::kZigzag: return Layout::kZigzag;
    case PcpLayout::kStriped: return Layout::kStriped;
  }
  return Layout::kZigzag;
}

void check(const ModelSpec& model, const ParallelConfig& c, std::vector<Violation>& out) {
  if (c.pcp == 1) return;
  if (c.variant.pcp_comm == PcpComm::kAllToAll) {
    for (const LayerKind& kind : model.kinds) {
      const std::int64_t width = c.tp * c.pcp;
      if (kind.attention.kind == AttentionKind::kGrouped && c.dcp == width && c.tp > 1) {
        out.push_back({"pcp_all_to_all_dcp", fmt::format("all-to-all prefill splits KV heads over pcp, but dcp {} leaves all KV heads on every rank", c.dcp)});
        return;
      }
      if (kind.attention.q_heads % width != 0) {
        out.push_back({"pcp_heads", fmt::format("all-to-all prefill context parallelism splits {} query heads over {} ranks", kind.attention.q_heads, width)});
        return;
      }
      const std::int64_t groups = kind.attention.compressed.output_groups;
      if (kind.attention.kind == AttentionKind::kCompressed && groups % width != 0) {
        out.push_back({"pcp_output_groups", fmt::format("all-to-all prefill context parallelism splits {} groups of the output projection over {} ranks", groups, width)});
        return;
      }
    }
  }
}

void apply(const StrategyContext& context, Strategy& s) {
  const Variant& v = context.config.variant;
  if (context.config.pcp == 1 || context.form == StepForm::kDecode) return;
  s.residual.append(Dim::kTokens, s.axes.pcp, token_layout(v.pcp_layout));
  s.ring_attention = v.pcp_comm == PcpComm::kRing;
  if (v.pcp_comm == PcpComm::kAllToAll) {
    DigitList heads = s.axes.tp;
    heads.insert(heads.end(), s.axes.pcp.begin(), s.axes.pcp.end());
    DigitList kv_heads = s.axes.heads;
    kv_heads.insert(kv_heads.end(), s.axes.pcp.begin(), s.axes.pcp.end());
    s.pins.push_back({"q_prefill", Dim::kHeads, heads});
    for (const char* name : {"k_prefill", "v_prefill"}) s.pins.push_back({name, Dim::kKvHeads, kv_heads, Layout::kWhole});
  } else if (v.pcp_comm == PcpComm::kAllGather) {
    // The latent is gathered before it is expanded to heads: 576 columns travel, not heads x 320.
    s.pins.push_back({"latent_prefill", Dim::kTokens, {}});
  }
}

}  // namespace

StrategyModule prefill_context_parallel_module() {
  return {"prefill_context_parallel", "a prompt's positions split over ranks (ring, all-gather, all-to-all)", check, apply};
}

}  // namespace shardplan
