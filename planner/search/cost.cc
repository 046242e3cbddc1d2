#include "planner/search/cost.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"
#include "planner/search/passes.h"
#include "planner/search/serve.h"

namespace shardplan {
namespace {

// How far a ledger is from fitting: bytes missing, or tokens of context, relative to what there is.
double memory_miss(const Ledger& ledger, std::int64_t context) {
  double missing = 0;
  for (const StageLedger& stage : ledger.stages)
    missing = std::max(missing, static_cast<double>(stage.missing_bytes.value()));
  if (missing > 0) return 1 + missing / static_cast<double>(std::max<std::int64_t>(1, ledger.capacity_bytes.value()));
  return 1 -
         static_cast<double>(ledger.group_capacity_tokens) / static_cast<double>(std::max<std::int64_t>(1, context));
}

std::string memory_suggestion(const Ledger& ledger) {
  if (ledger.group_capacity_tokens <= 0) return "";
  return fmt::format("max context {}", format_count(static_cast<double>(ledger.group_capacity_tokens)));
}

class TableCoster {
 public:
  TableCoster(const CostContext& context, const ScreenedTable& table, const std::optional<RankKey>& bar)
      : context_(context), table_(table), bar_(bar) {}

  TableCost run() {
    try {
      for (const ScreenedDepth& depth : table_.depths) {
        if (is_dominated(depth)) continue;
        if (!shared_.lowered) shared_ = share_table(request(), table_.table, context_.collectives);
        cost(depth.config);
      }
    } catch (const LoweringRefusal& refusal) {
      refuse(table_.depths.front().config, refusal.rule(), 0, {refusal.what(), ""});
    }
    return std::move(out_);
  }

 private:
  [[nodiscard]] const PlanRequest& request() const { return context_.request; }

  void refuse(const ParallelConfig& config, const std::string& rule, double miss, const Refusal& refusal) {
    out_.refused.add(config, rule, miss, [&refusal] { return refusal; });
  }

  bool is_dominated(const ScreenedDepth& depth) {
    if (!bar_ || ranks_before(depth.bound, *bar_)) return false;
    const double behind = depth.bound.score > 0 ? std::max(0.0, bar_->score / depth.bound.score - 1) : 1e9;
    out_.refused.add(depth.config, "dominated", behind, [&]() -> Refusal {
      return {fmt::format("its bound is {:.1f} % behind what is found already", behind * 100), ""};
    });
    return true;
  }

  // Device orders that differ: stages spread over nodes matter only for pipelines wider than one domain.
  [[nodiscard]] std::vector<DeviceOrder> orders(const ParallelConfig& config) const {
    if (config.pp == 1 || config.instance_gpus() <= request().hardware.node.domain) return {DeviceOrder::kStageMajor};
    if (engine_of(request()).exports || is_on(request(), "stage_minor"))
      return {DeviceOrder::kStageMajor};  // engines number ranks themselves
    return {DeviceOrder::kStageMajor, DeviceOrder::kStageMinor};
  }

  struct Best {
    std::optional<Costed> found;
    std::optional<TargetMiss> miss;  // the least, while nothing is found
    std::optional<Refusal> misfit;
    double misfit_by = 0;
    ParallelConfig missing;
    bool fits = false;
  };

  void cost(const ParallelConfig& config) {
    Best best;
    for (const DeviceOrder order : orders(config)) {
      Deployment deployment(request(), config, {order, context_.chunks.front()}, context_.collectives, shared_);
      for (const std::int64_t chunk : context_.chunks) {
        if (chunk != context_.chunks.front()) {
          if (!is_in_reach(best)) break;
          deployment.use_chunk(chunk);
        }
        try_setting(deployment, {order, chunk}, best);
      }
    }
    settle(config, best);
  }

  // Whether another chunk size could lift this depth over the bar, or make it fit or fast enough at all. Under a TPOT
  // target smaller chunks were seen to gain 20 %: half as much again is out of reach.
  [[nodiscard]] bool is_in_reach(const Best& best) const {
    constexpr double kMostGain = 1.5;
    if (!bar_ || !best.found || !is_on(request(), "chunk_reach")) return true;
    return best.found->key.score * kMostGain >= bar_->score;
  }

  void try_setting(Deployment& deployment, const Setting& setting, Best& best) {
    if (!deployment.ledger().fits) {
      const double by = memory_miss(deployment.ledger(), context_of(request()));
      if (best.misfit && by >= best.misfit_by) return;
      best.misfit = Refusal{deployment.ledger().misfit, memory_suggestion(deployment.ledger())};
      best.misfit_by = by;
      return;
    }
    best.fits = true;
    const Served served = serve(request(), deployment);
    ++out_.priced;
    if (served.miss) {
      if (!best.miss || served.miss->excess_ratio < best.miss->excess_ratio) {
        best.miss = served.miss;
        best.missing = deployment.config();
      }
      return;
    }
    if (!best.found || ranks_before(served.key, best.found->key)) {
      best.found = Costed{deployment.config(), setting, served.serving, served.key};
    }
  }

  void settle(const ParallelConfig& config, const Best& best) {
    if (best.fits) ++out_.fitting;
    if (best.found)
      out_.found.push_back(*best.found);
    else if (best.miss)
      refuse(best.missing, best.miss->rule, best.miss->excess_ratio, {best.miss->message, ""});
    else if (best.misfit)
      refuse(config, "memory", best.misfit_by, *best.misfit);
  }

  const CostContext& context_;
  const ScreenedTable& table_;
  const std::optional<RankKey>& bar_;
  SharedTable shared_;
  TableCost out_;
};

}  // namespace

CostContext cost_context(const PlanRequest& request, const CollectivePricer& collectives) {
  CostContext context{request, collectives, {0}};
  if (request.max_batched_tokens > 0) return context;
  const ParallelConfig one;
  std::vector<std::int64_t> distinct{scheduler_of(request, one, 0).max_batched_tokens};
  for (const std::int64_t chunk : {2048, 8192, 16384}) {
    const std::int64_t used = scheduler_of(request, one, chunk).max_batched_tokens;
    if (std::find(distinct.begin(), distinct.end(), used) != distinct.end()) continue;
    distinct.push_back(used);
    context.chunks.push_back(chunk);
  }
  return context;
}

TableCost cost_table(const CostContext& context, const ScreenedTable& table, const std::optional<RankKey>& bar) {
  return TableCoster(context, table, bar).run();
}

}  // namespace shardplan
