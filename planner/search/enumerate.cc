#include "planner/search/enumerate.h"

#include <algorithm>

#include "planner/deployment.h"
#include "planner/search/fixed.h"
#include "planner/search/passes.h"
#include "planner/search/tiling.h"
#include "planner/search/variants.h"

namespace shardplan {
namespace {

std::vector<std::int64_t> divisors(std::int64_t n) {
  std::vector<std::int64_t> list;
  for (std::int64_t d = 1; d <= n; ++d) {
    if (n % d == 0) list.push_back(d);
  }
  return list;
}

// tp that splits the query heads of every layer kind.
std::vector<std::int64_t> tensor_widths(const PlanRequest& request) {
  std::vector<std::int64_t> widths = degree_values(request, "tp", request.gpus);
  if (is_fixed(request, "tp")) return widths;   // what the user asked for is refused with its reason
  std::erase_if(widths, [&request](std::int64_t tp) {
    return std::any_of(request.model.kinds.begin(), request.model.kinds.end(),
                       [tp](const LayerKind& kind) { return kind.attention.q_heads % tp != 0; });
  });
  return widths;
}

bool is_power_of_two(std::int64_t n) { return (n & (n - 1)) == 0; }

// Prompts are cut in 2*pcp blocks: powers of two, and what divides the budget.
std::vector<std::int64_t> prompt_splits(const PlanRequest& request, std::int64_t limit) {
  std::vector<std::int64_t> splits = degree_values(request, "pcp", limit);
  if (is_fixed(request, "pcp") || !is_on(request, "pcp_divisors")) return splits;
  std::erase_if(splits, [&request](std::int64_t pcp) { return !is_power_of_two(pcp) && request.gpus % pcp != 0; });
  return splits;
}

// (dpa, pcp, tp) within the budget.
std::vector<ParallelConfig> attention_degrees(const PlanRequest& request) {
  std::vector<ParallelConfig> list;
  for (const std::int64_t tp : tensor_widths(request)) {
    for (const std::int64_t pcp : prompt_splits(request, request.gpus / tp)) {
      for (const std::int64_t dpa : degree_values(request, "dpa", request.gpus / (tp * pcp))) {
        ParallelConfig config;
        copy_fixed(request, config);
        config.tp = tp;
        config.pcp = pcp;
        config.dpa = dpa;
        if (tiles(request, config.stage_ranks())) list.push_back(config);
      }
    }
  }
  return list;
}

// Ranks of a tensor group that hold copies of the same KV head: what a split of positions can do away with.
std::int64_t cache_copies(const PlanRequest& request, std::int64_t tp) {
  std::int64_t most = 1;
  for (const LayerKind& kind : request.model.kinds) {
    const bool latent = kind.attention.kind == AttentionKind::kLatent;
    most = std::max(most, latent ? tp : tp / std::max<std::int64_t>(1, kind.attention.kv_heads));
  }
  return most;
}

std::vector<std::int64_t> cache_splits(const PlanRequest& request, const ParallelConfig& c) {
  const bool all = is_fixed(request, "dcp") || !is_on(request, "dcp_copies");
  const std::int64_t copies = cache_copies(request, c.tp);
  if (c.pcp == 1) {
    std::vector<std::int64_t> list = divisors(c.tp);
    if (!all) std::erase_if(list, [copies](std::int64_t dcp) { return dcp > copies; });
    return list;
  }
  std::vector<std::int64_t> list{1, c.pcp};
  if (c.tp > 1 && (all || copies > 1)) list.push_back(c.pcp * c.tp);
  return list;
}

bool nests(std::int64_t a, std::int64_t b) { return a % b == 0 || b % a == 0; }

// FFN strides must form a divisor chain with the attention's {dcp, tp, pcp*tp}.
bool ffn_nests(const ParallelConfig& c) {
  for (const std::int64_t stride : {c.ep_stride(), c.moe_tp_stride(), c.moe_tp * c.ep}) {
    if (!nests(stride, c.tp) || !nests(stride, c.tp * c.pcp)) return false;
    if (c.pcp == 1 && !nests(stride, c.dcp)) return false;
  }
  return true;
}

bool keeps_moe_dp(const PlanRequest& request, const ParallelConfig& c) {
  if (c.moe_dp == 1 || is_fixed(request, "moe_dp")) return true;
  if (c.dpa > 1) return !is_on(request, "lockstep_replicas");
  return !is_on(request, "idle_moe_dp") || (c.pcp > 1 && c.pcp % c.moe_dp == 0);
}

// Experts both spread and sliced: beside prompt splitting only where the user asks for it.
bool keeps_hybrid(const PlanRequest& request, const ParallelConfig& c) {
  if (c.ep == 1 || c.moe_tp == 1 || c.pcp == 1 || !is_on(request, "pcp_hybrid_experts")) return true;
  return is_fixed(request, "ep") || is_fixed(request, "moe_tp");
}

std::vector<ParallelConfig> ffn_degrees(const PlanRequest& request, const ParallelConfig& config) {
  if (!request.model.is_moe()) return {config};
  std::vector<ParallelConfig> list;
  for (const std::int64_t moe_tp : divisors(config.stage_ranks())) {
    for (const std::int64_t ep : divisors(config.stage_ranks() / moe_tp)) {
      ParallelConfig c = config;
      c.moe_tp = moe_tp;
      c.ep = ep;
      c.moe_dp = config.stage_ranks() / (moe_tp * ep);
      if (ffn_nests(engine_of(request).settled(request.model, c)) && keeps_moe_dp(request, c) && keeps_hybrid(request, c)) list.push_back(c);
    }
  }
  return list;
}

// What is fixed of a table; replicas and pp are looked at later.
bool agrees(const PlanRequest& request, ParallelConfig table) {
  table.replicas = request.fixed.replicas;
  table.pp = request.fixed.pp;
  return agrees_with_fixed(request, table);
}

}  // namespace

std::vector<ParallelConfig> enumerate_tables(const PlanRequest& request) {
  std::vector<ParallelConfig> tables;
  for (const ParallelConfig& attention : attention_degrees(request)) {
    for (const std::int64_t dcp : cache_splits(request, attention)) {
      ParallelConfig split = attention;
      split.dcp = dcp;
      for (const ParallelConfig& degrees : ffn_degrees(request, split)) {
        for (const ParallelConfig& table : with_variants(request, degrees)) {
          if (agrees(request, table)) tables.push_back(engine_of(request).settled(request.model, table));
        }
      }
    }
  }
  return tables;
}

std::vector<std::int64_t> pipeline_depths(const PlanRequest& request, std::int64_t ranks) {
  std::vector<std::int64_t> depths = degree_values(request, "pp", std::min(request.gpus / ranks, request.model.layer_count()));
  std::erase_if(depths, [&](std::int64_t pp) { return !tiles(request, ranks * pp); });
  return depths;
}

}  // namespace shardplan
