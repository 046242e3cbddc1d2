#include "planner/search/passes.h"

#include <algorithm>
#include <utility>

#include "base/errors.h"

namespace shardplan {

const std::vector<SearchPass>& search_passes() {
  static const std::vector<SearchPass> passes{
      {"enumerate", false, "every table of degrees and variants whose instance tiles the machines or the budget"},
      {"lockstep_replicas", true,
       "no dpa and moe_dp that share a digit: nothing crosses it, so separate replicas do the same without waiting"},
      {"idle_moe_dp", true,
       "experts are copied (moe_dp > 1) only where pcp splits a prompt's tokens: elsewhere a copy costs cache and "
       "each copy still reads its experts' weights"},
      {"dcp_copies", true,
       "dcp up to tp / KV heads: beyond, positions are split instead of heads, with the same bytes on a rank and more "
       "exchanged"},
      {"pcp_divisors", true, "pcp is a power of two or divides the budget: others leave GPUs idle or blocks uneven"},
      {"pcp_hybrid_experts", true,
       "with pcp experts are whole or sliced, not both: the hybrid trades bytes that pcp already cut for smaller "
       "products"},
      {"pcp_layout", true, "zigzag prefill only: contiguous waits for its busiest rank, striped for its diagonal"},
      {"dcp_one_exchange", true,
       "without an engine partial outputs are merged by one exchange: ag_rs sends more in more collectives"},
      {"stage_minor", true,
       "stages lie side by side: innermost stages send every layer's exchange over the network to save one hop"},
      {"helix_twin", true, "a2a with Q-replicate is Helix without HOP-B where Helix is legal: the same placements"},
      {"screen", false, "neutral legality, the engine's rules, and what memory and time allow at best"},
      {"memory_bound", true, "weights split as far as any table splits them already exceed a GPU"},
      {"latency_bound", true, "a step of one request alone already exceeds a latency target", true},
      {"bound", true, "tables by falling bound; what cannot rank before the last kept plan is not costed", true},
      {"cost", false, "lower once per table; memory and serving of every pipeline depth and chunk size"},
      {"chunk_reach", true,
       "other chunk sizes only within a third of the bar: smaller ones were seen to gain a fifth under a TPOT target"},
      {"select", false, "rank by the objective, keep the best, group what was refused"},
      {"pareto", false, "the front of tokens/s/GPU against tokens/s/user"},
      {"nearest_feasible", false, "when nothing is left: the smallest change that would help, by trying"},
  };
  return passes;
}

namespace {

// Every layer is full, windowed or latent attention and an FFN: what the bounds count.
bool has_plain_layers(const ModelSpec& model) {
  return std::all_of(model.kinds.begin(), model.kinds.end(), [](const LayerKind& kind) {
    const bool attention = kind.attention.kind == AttentionKind::kGrouped || kind.attention.kind == AttentionKind::kLatent;
    return attention && kind.attention.index.heads == 0 && kind.ffn.kind != FfnKind::kNone;
  });
}

}  // namespace

bool is_on(const PlanRequest& request, std::string_view pass) {
  const auto& passes = search_passes();
  const auto row = std::find_if(passes.begin(), passes.end(), [pass](const SearchPass& p) { return pass == p.name; });
  ensure(row != passes.end(), "no such search pass");
  if (row->plain_layers_only && !has_plain_layers(request.model)) return false;
  const auto& off = request.disabled_passes;
  return !row->prunes || std::find(off.begin(), off.end(), pass) == off.end();
}

PassTimer::PassTimer(SearchStats& stats, std::string name)
    : stats_(stats), name_(std::move(name)), start_(std::chrono::steady_clock::now()) {}

PassTimer::~PassTimer() {
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start_;
  stats_.pass_seconds.emplace_back(name_, elapsed.count());
}

}  // namespace shardplan
