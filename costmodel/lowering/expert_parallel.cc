// Expert parallelism: whole experts per rank (E/ep), each optionally split over moe_tp ranks.
//
// Three ways for tokens to meet experts:
//   all_to_all   dispatch each token once to every rank that holds one of its experts, combine the partial results;
//   all_gather   all tokens and their routing to every rank of the group, reduce-scatter after: (N-1)/N*T*D*b each way;
//   replicated   every rank has all tokens; one all-reduce at the end.
// The first two start from distinct tokens per rank: the residual stream is split over the whole stage.
#include <fmt/format.h>

#include "costmodel/lowering/modules.h"

namespace shardplan {
namespace {

// What comes and goes is an attention group with its part of one set of experts.
void check_elastic(const ParallelConfig& c, std::vector<Violation>& out) {
  if (!c.variant.elastic_ep) return;
  if (c.pp > 1) out.push_back({"elastic_pp", fmt::format("elastic expert parallelism has one stage, not pp {}", c.pp)});
  if (c.ep == 1 || c.moe_dp > 1) out.push_back({"elastic_needs_ep", fmt::format("elastic expert parallelism spreads one set of experts over the instance: ep {} and moe_dp {} must be all of its ranks and 1", c.ep, c.moe_dp)});
}

void check(const ModelSpec& model, const ParallelConfig& c, std::vector<Violation>& out) {
  const Variant& v = c.variant;
  if (v.redundant_experts < 0) out.push_back({"redundant_experts", "redundant experts cannot be negative"});
  if (!model.is_moe()) {
    if (v.redundant_experts > 0) out.push_back({"redundant_experts", "a dense model has no experts to replicate"});
    if (v.elastic_ep) out.push_back({"elastic_ep", "a dense model has no experts to spread anew: add or remove replicas"});
    return;
  }
  if (v.moe_comm == MoeComm::kAllToAll && c.ep == 1 && c.stage_ranks() > 1) {
    out.push_back({"all_to_all_needs_ep", "all-to-all experts need ep > 1"});
  }
  if (v.redundant_experts > 0 && c.ep == 1) out.push_back({"redundant_needs_ep", "redundant experts need ep > 1"});
  check_elastic(c, out);
  for (const LayerKind& kind : model.kinds) {
    if (kind.ffn.kind != FfnKind::kMoe) continue;
    if (kind.ffn.experts < c.ep) {
      out.push_back({"experts_per_rank", fmt::format("{} experts over ep {} leave ranks without one", kind.ffn.experts, c.ep)});
      return;
    }
    if (v.redundant_experts > 0 && (kind.ffn.experts + v.redundant_experts) % c.ep != 0) {
      out.push_back({"redundant_divisible", fmt::format("{} experts + {} redundant do not divide by ep {}", kind.ffn.experts, v.redundant_experts, c.ep)});
      return;
    }
  }
}

void apply(const StrategyContext& context, Strategy& s) {
  if (!context.model.is_moe()) return;
  s.rows.push_back({Part::kExperts, "", Dim::kExperts, s.axes.ep});
  s.rows.push_back({Part::kExperts, "", Dim::kFfn, s.axes.moe_tp});
  s.dispatch_experts = context.config.variant.moe_comm == MoeComm::kAllToAll && context.config.ep > 1;
  s.overlap = context.config.variant.overlap;
  s.overlap_parts = s.overlap == Overlap::kNone ? 1 : s.overlap == Overlap::kTwoBatch ? 2 : context.config.variant.overlap_chunks;
}

}  // namespace

StrategyModule expert_parallel_module() {
  return {"expert_parallel", "experts spread over ranks (all-to-all, all-gather, replicated), each split by moe_tp", check, apply};
}

}  // namespace shardplan
