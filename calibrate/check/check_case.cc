#include "calibrate/check/check_case.h"

#include <algorithm>
#include <array>

#include "costmodel/lowering/registry.h"

namespace shardplan {
namespace {

using Configs = std::vector<ParallelConfig>;

// Ways for the experts of a mixture to lie on the stage's ranks; a dense model has one.
Configs with_experts(const ModelSpec& model, const Configs& configs) {
  if (!model.is_moe()) return configs;
  Configs result = configs;
  for (ParallelConfig& config : result) config.moe_tp = config.stage_ranks();
  return result;
}

Configs tensor(std::int64_t ranks) { return {{.tp = ranks}}; }

Configs attention_dp(std::int64_t ranks) {
  Configs configs{{.dpa = ranks}};
  if (ranks % 2 == 0) configs.push_back({.dpa = 2, .tp = ranks / 2});
  if (ranks % 4 == 0) configs.push_back({.dpa = 2, .tp = ranks / 2, .dcp = 2});
  return configs;
}

Configs prefill_context(std::int64_t ranks) {
  Configs configs;
  for (const PcpComm comm : {PcpComm::kAllGather, PcpComm::kRing, PcpComm::kAllToAll}) {
    for (const PcpLayout layout : {PcpLayout::kZigzag, PcpLayout::kContiguous, PcpLayout::kStriped}) {
      const Variant variant{.cp_interleave = 2, .pcp_comm = comm, .pcp_layout = layout};
      configs.push_back({.pcp = ranks, .variant = variant});
      configs.push_back({.pcp = ranks, .dcp = ranks, .variant = variant});
      if (ranks % 2 == 0) configs.push_back({.pcp = 2, .tp = ranks / 2, .dcp = 2, .variant = variant});
      if (ranks % 2 == 0) configs.push_back({.pcp = 2, .tp = ranks / 2, .dcp = ranks, .variant = variant});
    }
  }
  return configs;
}

Configs decode_context(std::int64_t ranks) {
  Configs configs;
  for (std::int64_t dcp = 2; dcp <= ranks; ++dcp) {
    if (ranks % dcp != 0) continue;
    configs.push_back({.tp = ranks, .dcp = dcp});
    configs.push_back({.tp = ranks, .dcp = dcp, .variant = {.dcp_comm = DcpComm::kA2a, .cp_interleave = 2}});
    configs.push_back({.tp = ranks, .dcp = dcp, .variant = {.q_replicate = true}});
  }
  return configs;
}

Configs helix(std::int64_t ranks) {
  Configs configs;
  for (std::int64_t dcp = 2; dcp <= ranks; ++dcp) {
    if (ranks % dcp == 0) configs.push_back({.tp = ranks, .dcp = dcp, .variant = {.helix = true}});
  }
  return configs;
}

Configs experts(std::int64_t ranks) {
  Configs configs;
  for (const MoeComm comm : {MoeComm::kReplicated, MoeComm::kAllGather, MoeComm::kAllToAll}) {
    const Variant variant{.moe_comm = comm};
    configs.push_back({.tp = ranks, .ep = ranks, .variant = variant});
    configs.push_back({.dpa = ranks, .ep = ranks, .variant = variant});
    if (ranks % 2 != 0) continue;
    configs.push_back({.tp = ranks, .moe_tp = 2, .ep = ranks / 2, .variant = variant});
    configs.push_back({.dpa = 2, .tp = ranks / 2, .ep = ranks / 2, .moe_dp = 2, .variant = variant});
    configs.push_back({.dpa = ranks / 2, .tp = 2, .ep = ranks, .variant = variant});
  }
  return configs;
}

// Roomy and tight: some tokens are dropped by most experts, or by a few.
Configs capacity(std::int64_t ranks) {
  Configs configs;
  for (const double factor : {1.25, 0.5}) {
    for (ParallelConfig config : experts(ranks)) {
      config.variant.capacity_factor_ratio = factor;
      configs.push_back(config);
    }
  }
  return configs;
}

Configs pipeline(std::int64_t ranks) {
  Configs configs;
  for (std::int64_t pp = 2; pp <= ranks; ++pp) {
    if (ranks % pp == 0) configs.push_back({.pp = pp, .tp = ranks / pp});
    if (ranks % (2 * pp) == 0) configs.push_back({.pp = pp, .dpa = 2, .tp = ranks / pp / 2});
  }
  return configs;
}

Configs speculation(std::int64_t ranks) {
  Configs configs{{.tp = ranks}, {.dpa = ranks}};
  if (ranks % 2 == 0) {
    configs.push_back({.pp = 2, .tp = ranks / 2});
    configs.push_back({.dpa = 2, .tp = ranks / 2});
    configs.push_back({.tp = ranks, .dcp = 2});
    configs.push_back({.pcp = 2, .tp = ranks / 2, .dcp = 2});
  }
  for (ParallelConfig& config : configs) config.variant.speculative_tokens = 2;
  return configs;
}

struct Row {
  const char* lowering;
  Configs (*configs)(std::int64_t ranks);
};

// Those that the even step of run_check divides by.
constexpr std::array<std::int64_t, 6> kDegrees{1, 2, 3, 4, 6, 8};

constexpr std::array kRows{
    Row{"tensor_parallel", tensor},           Row{"attention_dp", attention_dp}, Row{"prefill_context_parallel", prefill_context},
    Row{"decode_context_parallel", decode_context}, Row{"helix", helix},         Row{"expert_parallel", experts},
    Row{"capacity_factor", capacity},
    Row{"pipeline", pipeline},                Row{"speculation", speculation},
};

}  // namespace

std::vector<CheckCase> check_cases(const std::vector<ModelSpec>& models, std::int64_t ranks) {
  std::vector<CheckCase> cases;
  for (const ModelSpec& model : models) {
    const std::size_t first = cases.size();
    for (const Row& row : kRows) {
      for (const std::int64_t degree : kDegrees) {
        if (degree > ranks) break;
        const bool has_experts = std::string(row.lowering) == "expert_parallel" || std::string(row.lowering) == "capacity_factor";
        if (has_experts && (!model.is_moe() || degree == 1)) continue;
        for (const ParallelConfig& config : has_experts ? row.configs(degree) : with_experts(model, row.configs(degree))) {
          const bool known = std::any_of(cases.begin() + static_cast<std::ptrdiff_t>(first), cases.end(),
                                         [&](const CheckCase& c) { return c.config == config; });
          if (!known && check_config(model, config).empty()) cases.push_back({row.lowering, model, config});
        }
      }
    }
  }
  return cases;
}

}  // namespace shardplan
