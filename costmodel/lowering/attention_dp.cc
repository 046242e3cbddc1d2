// Attention data parallelism: requests are split over `dpa` groups that each hold all attention weights.
//
// Requests (tokens and their cache) are Shard(by request) over dpa; attention weights are Replicate there. An FFN
// wider than a group gathers tokens from all groups and scatters its sums back: (R-1)/R*T*D*b sent per rank each way
// over its R ranks, T padded to R times the largest group. Source: strategies of SGLang DP attention, vLLM DP + EP.
#include "costmodel/lowering/modules.h"

namespace shardplan {
namespace {

void check(const ModelSpec&, const ParallelConfig&, std::vector<Violation>&) {}

void apply(const StrategyContext&, Strategy& s) {
  s.residual.append(Dim::kTokens, s.axes.dpa, Layout::kByRequest);
  s.rows.push_back({Part::kAttention, "", Dim::kPositions, s.axes.dpa, Layout::kByRequest});
}

}  // namespace

StrategyModule attention_dp_module() {
  return {"attention_dp", "requests split over attention groups, FFN over all of them", check, apply};
}

}  // namespace shardplan
