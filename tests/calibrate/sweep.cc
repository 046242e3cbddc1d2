#include "tests/calibrate/sweep.h"

#include "costmodel/lowering/registry.h"
#include "calibrate/small_models.h"

namespace shardplan {
namespace {

using Configs = std::vector<ParallelConfig>;

std::vector<std::int64_t> divisors(std::int64_t n) {
  std::vector<std::int64_t> result;
  for (std::int64_t d = 1; d <= n; ++d) {
    if (n % d == 0) result.push_back(d);
  }
  return result;
}

// Each configuration with each value of one choice.
template <class Value, class Set>
Configs crossed(const Configs& configs, const std::vector<Value>& values, Set set) {
  Configs result;
  for (const ParallelConfig& config : configs) {
    for (const Value& value : values) {
      ParallelConfig next = config;
      if (set(next, value)) result.push_back(next);
    }
  }
  return result;
}

Configs attention_degrees(std::int64_t ranks) {
  const auto all = divisors(ranks);
  Configs configs = crossed(Configs{{}}, all, [](ParallelConfig& c, std::int64_t dpa) { c.dpa = dpa; return true; });
  configs = crossed(configs, all, [&](ParallelConfig& c, std::int64_t pcp) { c.pcp = pcp; return ranks % (c.dpa * pcp) == 0; });
  for (ParallelConfig& c : configs) c.tp = ranks / (c.dpa * c.pcp);
  return crossed(configs, all, [](ParallelConfig& c, std::int64_t dcp) { c.dcp = dcp; return true; });
}

Configs decode_variants(const Configs& configs) {
  enum class Merge { kAgRs, kA2a, kQReplicate, kHelix };
  const std::vector<Merge> merges{Merge::kAgRs, Merge::kA2a, Merge::kQReplicate, Merge::kHelix};
  Configs result = crossed(configs, merges, [](ParallelConfig& c, Merge merge) {
    if (merge == Merge::kA2a) c.variant.dcp_comm = DcpComm::kA2a;
    c.variant.q_replicate = merge == Merge::kQReplicate;
    c.variant.helix = merge == Merge::kHelix;
    return c.dcp > 1 || merge == Merge::kAgRs;
  });
  return crossed(result, std::vector<std::int64_t>{1, 2}, [](ParallelConfig& c, std::int64_t interleave) {
    c.variant.cp_interleave = interleave;
    return c.dcp > 1 || interleave == 1;
  });
}

Configs prefill_variants(const Configs& configs) {
  Configs result = crossed(configs, std::vector<PcpComm>{PcpComm::kAllGather, PcpComm::kRing, PcpComm::kAllToAll},
                           [](ParallelConfig& c, PcpComm comm) { c.variant.pcp_comm = comm; return c.pcp > 1 || comm == PcpComm::kAllGather; });
  return crossed(result, std::vector<PcpLayout>{PcpLayout::kZigzag, PcpLayout::kContiguous, PcpLayout::kStriped},
                 [](ParallelConfig& c, PcpLayout layout) { c.variant.pcp_layout = layout; return c.pcp > 1 || layout == PcpLayout::kZigzag; });
}

Configs expert_variants(const Configs& configs, std::int64_t ranks) {
  const auto all = divisors(ranks);
  Configs result = crossed(configs, all, [](ParallelConfig& c, std::int64_t moe_tp) { c.moe_tp = moe_tp; return true; });
  result = crossed(result, all, [&](ParallelConfig& c, std::int64_t ep) {
    c.ep = ep;
    c.moe_dp = ranks / (c.moe_tp * ep);
    return ranks % (c.moe_tp * ep) == 0;
  });
  return crossed(result, std::vector<MoeComm>{MoeComm::kReplicated, MoeComm::kAllGather, MoeComm::kAllToAll},
                 [](ParallelConfig& c, MoeComm comm) { c.variant.moe_comm = comm; return true; });
}

RaggedBatch batch_of(StepForm form) {
  if (form == StepForm::kDecode) return decode_batch({7, 1, 12, 3, 20});
  if (form == StepForm::kPrefill) return prefill_batch({{0, 7}, {5, 4}, {3, 1}});
  return mixed_batch({7, 2, 9}, {{0, 5}, {4, 6}});
}

void fail(SweepReport& report, const std::string& where, const std::string& what) {
  if (report.failures.size() < 10) report.failures.push_back(where + ": " + what);
}

void prove_one(const ProofCase& c, SweepReport& report) {
  const std::string where = c.model.name + " " + short_text(c.config) + " " + form_name(c.form) + " kind " + std::to_string(c.kind);
  try {
    const ProofResult result = prove(c, 7);
    if (result.values.values == 0 || result.values.unheld > 0) {
      fail(report, where, "nothing to compare, or values that roundings alone change by more than half");
    } else if (!(result.values.worst_share_ratio <= 1)) {   // a NaN does not hold
      fail(report, where, result.values.worst_tensor + " is off by " + std::to_string(result.values.worst_error_ratio) + " on rank " + std::to_string(result.values.worst_rank));
    } else if (!result.bytes.mismatches.empty()) {
      fail(report, where, result.bytes.mismatches.front());
    } else {
      ++report.proven;
    }
    report.total.absorb(result);
  } catch (const LoweringRefusal& refusal) {
    ++report.refused;
  } catch (const std::exception& error) {
    fail(report, where, error.what());
  }
}

}  // namespace

std::vector<ParallelConfig> legal_configs(const ModelSpec& model, const SweepGrid& grid) {
  Configs legal;
  std::int64_t number = 0;
  for (const std::int64_t ranks : grid.ranks) {
    Configs configs = prefill_variants(decode_variants(attention_degrees(ranks)));
    if (model.is_moe()) configs = expert_variants(configs, ranks);
    for (const ParallelConfig& config : configs) {
      if (!grid.only(config) || !check_config(model, config).empty()) continue;
      if (number++ % grid.every == 0) legal.push_back(config);
    }
  }
  return legal;
}

SweepReport sweep(const ModelSpec& model, const SweepGrid& grid) {
  SweepReport report;
  for (const ParallelConfig& config : legal_configs(model, grid)) {
    ++report.configs;
    for (const StepForm form : {StepForm::kDecode, StepForm::kPrefill, StepForm::kMixed}) {
      for (std::size_t kind = 0; kind < model.kinds.size(); ++kind) {
        prove_one({model, static_cast<int>(kind), config, form, batch_of(form)}, report);
      }
    }
  }
  return report;
}

}  // namespace shardplan
