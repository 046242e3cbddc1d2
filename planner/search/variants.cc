#include "planner/search/variants.h"

#include <functional>

#include "planner/search/fixed.h"
#include "planner/search/passes.h"

namespace shardplan {
namespace {

// Replaces each configuration by one per value of a choice, in order.
template <class T>
void cross(std::vector<ParallelConfig>& configs, const std::vector<T>& values,
           const std::function<void(ParallelConfig&, T)>& set) {
  std::vector<ParallelConfig> out;
  out.reserve(configs.size() * values.size());
  for (const ParallelConfig& config : configs) {
    for (const T value : values) {
      out.push_back(config);
      set(out.back(), value);
    }
  }
  configs = std::move(out);
}

// With one rank per attention group tokens differ on all ranks already: `replicated` must gather them too.
bool gathers_anyway(const ParallelConfig& c) { return c.tp == 1 && c.pcp == 1 && c.dpa > 1 && c.ep * c.moe_tp > 1; }

struct DcpVariant {
  DcpComm comm = DcpComm::kAgRs;
  bool q_replicate = false;
  bool helix = false;
  std::int64_t hop_b = 1;
};

// Parts of a batch under HOP-B. More are never slower in prices that charge no kernel twice, so one value stands for
// all.
constexpr std::int64_t kHopParts = 4;

bool helix_is_legal(const PlanRequest& request, const ParallelConfig& c) {
  for (const LayerKind& kind : request.model.kinds) {
    if (kind.attention.kind == AttentionKind::kGrouped && c.tp / c.dcp > kind.attention.kv_heads) return false;
  }
  return c.pcp == 1;
}

std::vector<DcpVariant> dcp_variants(const PlanRequest& request, const ParallelConfig& c) {
  if (c.dcp == 1) return {{}};
  if (c.pcp > 1) return {{}};
  // An engine without Helix has its twin only: keep both names apart there.
  const bool own_engine = request.engine != nullptr && request.engine->exports;
  const bool one_exchange = is_on(request, "dcp_one_exchange") && !own_engine && !is_fixed(request, "dcp_comm");
  std::vector<DcpVariant> list;
  if (!one_exchange) list.push_back({DcpComm::kAgRs});
  list.push_back({DcpComm::kA2a});
  if (!one_exchange || is_fixed(request, "q_replicate")) list.push_back({DcpComm::kAgRs, true});
  const bool twin =
      is_on(request, "helix_twin") && helix_is_legal(request, c) && !is_fixed(request, "q_replicate") && !own_engine;
  if (!twin) list.push_back({DcpComm::kA2a, true});
  if (helix_is_legal(request, c)) {
    list.push_back({DcpComm::kA2a, false, true, 1});
    const std::int64_t parts = is_fixed(request, "hop_b") ? request.fixed.variant.hop_b : kHopParts;
    if (parts > 1) list.push_back({DcpComm::kA2a, false, true, parts});
  }
  return list;
}

std::vector<PcpComm> pcp_exchanges(const ParallelConfig& c) {
  if (c.pcp == 1) return {PcpComm::kAllGather};
  return {PcpComm::kAllGather, PcpComm::kRing, PcpComm::kAllToAll};
}

std::vector<PcpLayout> pcp_layouts(const PlanRequest& request, const ParallelConfig& c) {
  if (c.pcp == 1) return {PcpLayout::kZigzag};
  if (is_fixed(request, "pcp_layout")) return {request.fixed.variant.pcp_layout};
  if (is_on(request, "pcp_layout")) return {PcpLayout::kZigzag};
  return {PcpLayout::kZigzag, PcpLayout::kStriped, PcpLayout::kContiguous};
}

std::vector<MoeComm> moe_exchanges(const PlanRequest& request, const ParallelConfig& c) {
  if (!request.model.is_moe() || c.stage_ranks() == 1) return {MoeComm::kReplicated};
  std::vector<MoeComm> list;
  if (!gathers_anyway(c)) list.push_back(MoeComm::kReplicated);
  list.push_back(MoeComm::kAllGather);
  if (c.ep > 1) list.push_back(MoeComm::kAllToAll);
  return list;
}

}  // namespace

std::vector<ParallelConfig> with_variants(const PlanRequest& request, const ParallelConfig& config) {
  std::vector<ParallelConfig> configs{config};
  cross<DcpVariant>(configs, dcp_variants(request, config), [](ParallelConfig& c, DcpVariant v) {
    c.variant.dcp_comm = v.helix ? DcpComm::kAgRs : v.comm;
    c.variant.q_replicate = v.q_replicate;
    c.variant.helix = v.helix;
    c.variant.hop_b = v.hop_b;
  });
  cross<PcpComm>(configs, pcp_exchanges(config), [](ParallelConfig& c, PcpComm v) { c.variant.pcp_comm = v; });
  cross<PcpLayout>(configs, pcp_layouts(request, config),
                   [](ParallelConfig& c, PcpLayout v) { c.variant.pcp_layout = v; });
  cross<MoeComm>(configs, moe_exchanges(request, config), [](ParallelConfig& c, MoeComm v) { c.variant.moe_comm = v; });
  return configs;
}

ParallelConfig canonical(ParallelConfig c) {
  const Variant defaults;
  Variant& v = c.variant;
  if (c.dcp == 1 || v.helix) {
    v.dcp_comm = defaults.dcp_comm;
    v.q_replicate = defaults.q_replicate;
  }
  if (c.dcp == 1) v.cp_interleave = defaults.cp_interleave;
  if (!v.helix) v.hop_b = defaults.hop_b;
  if (c.pcp == 1) {
    v.pcp_comm = defaults.pcp_comm;
    v.pcp_layout = defaults.pcp_layout;
  }
  if (c.stage_ranks() == 1) v.moe_comm = defaults.moe_comm;
  if (gathers_anyway(c) && v.moe_comm == MoeComm::kReplicated) v.moe_comm = MoeComm::kAllGather;
  v.ep_inner = defaults.ep_inner;  // the engine decides it
  if (v.overlap != Overlap::kChunk) v.overlap_chunks = defaults.overlap_chunks;
  return c;
}

}  // namespace shardplan
