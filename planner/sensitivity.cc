#include "planner/sensitivity.h"

#include <fmt/format.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <optional>

#include "planner/cluster.h"
#include "planner/search/serve.h"

namespace shardplan {
namespace {

constexpr std::size_t kMostCandidates = 32;

struct Candidate {
  ParallelConfig config;
  Setting setting;
};

// The kept plans, then the best of each family that lost on score alone.
std::vector<Candidate> candidates_of(const PlanResult& result) {
  std::vector<Candidate> list;
  for (const Plan& plan : result.plans) list.push_back({plan.config, {plan.order, plan.max_batched_tokens}});
  for (const Rejection& rejection : result.rejected) {
    const bool lost = rejection.rule == "dominated" || rejection.rule == "tpot" || rejection.rule == "ttft" ||
                      rejection.rule == "e2e";
    if (lost && list.size() < kMostCandidates) list.push_back({rejection.config, {}});
  }
  return list;
}

// Where a candidate ranks under a request; nothing when it does not fit or misses the targets.
std::optional<RankKey> key_under(const PlanRequest& request, const Candidate& candidate,
                                 const CollectivePricer& collectives) {
  try {
    Deployment deployment(request, candidate.config, candidate.setting, collectives);
    if (!deployment.ledger().fits) return std::nullopt;
    const Served served = serve(request, deployment);
    return served.miss ? std::nullopt : std::optional(served.key);
  } catch (const LoweringRefusal&) {
    return std::nullopt;
  }
}

Sensitivity try_change(const PlanRequest& request, const Change& change, const std::vector<Candidate>& candidates,
                       const Plan& winner) {
  PlanRequest changed = request;
  change.apply(changed);
  const Cluster cluster(changed, changed.gpus);
  std::vector<std::optional<RankKey>> keys(candidates.size());
  tbb::parallel_for(std::size_t{0}, keys.size(),
                    [&](std::size_t i) { keys[i] = key_under(changed, candidates[i], cluster.collectives()); });
  std::size_t best = 0;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (keys[i] && (!keys[best] || ranks_before(*keys[i], *keys[best]))) best = i;
  }
  Sensitivity out{change.name, false, "", 0, ""};
  if (!keys[best]) {
    out.order_changes = true;
    out.message = fmt::format("{}: none of the plans holds", change.name);
    return out;
  }
  out.winner = short_text(candidates[best].config);
  out.order_changes = best != 0;
  out.score_ratio = keys[0] && winner.score > 0 ? keys[0]->score / winner.score : 0;
  if (!out.order_changes)
    out.message = fmt::format("{}: same winner, its score x{:.3f}", change.name, out.score_ratio);
  else if (!keys[0])
    out.message = fmt::format("{}: {} wins, the winner no longer holds", change.name, out.winner);
  else
    out.message =
        fmt::format("{}: {} wins by {:.1f} %", change.name, out.winner, (keys[best]->score / keys[0]->score - 1) * 100);
  return out;
}

bool always(const PlanRequest&) { return true; }
bool has_concurrency(const PlanRequest& r) { return r.workload.concurrency.has_value(); }
bool has_rate(const PlanRequest& r) { return r.workload.requests_per_second.has_value(); }
bool has_tpot(const PlanRequest& r) { return r.targets.tpot.has_value(); }
bool spans_nodes(const PlanRequest& r) { return r.gpus > r.hardware.node.domain; }

void scale_context(PlanRequest& r, std::int64_t k) {
  r.workload.isl *= k;
  r.workload.prefix *= k;
  if (r.max_model_len > 0) r.max_model_len = std::max(r.max_model_len, r.workload.tokens());
}

}  // namespace

const std::vector<Change>& sensitivity_changes() {
  static const std::vector<Change> changes{
      {"scale-up bandwidth +10 %", always,
       [](PlanRequest& r) { r.hardware.node.scale_up.bandwidth = r.hardware.node.scale_up.bandwidth * 1.1; }},
      {"network bandwidth +10 %", spans_nodes,
       [](PlanRequest& r) { r.hardware.node.nic.bandwidth = r.hardware.node.nic.bandwidth * 1.1; }},
      {"memory bandwidth +10 %", always,
       [](PlanRequest& r) { r.hardware.device.memory_bandwidth = r.hardware.device.memory_bandwidth * 1.1; }},
      {"compute +10 %", always,
       [](PlanRequest& r) {
         for (FlopsPerSecond& peak : r.hardware.device.peak) peak = peak * 1.1;
       }},
      {"memory +10 %", always,
       [](PlanRequest& r) { r.hardware.device.memory = Bytes(r.hardware.device.memory.value() / 10 * 11); }},
      {"concurrency x2", has_concurrency, [](PlanRequest& r) { r.workload.concurrency = *r.workload.concurrency * 2; }},
      {"concurrency x0.5", has_concurrency,
       [](PlanRequest& r) { r.workload.concurrency = std::max<std::int64_t>(1, *r.workload.concurrency / 2); }},
      {"request rate x2", has_rate,
       [](PlanRequest& r) { r.workload.requests_per_second = *r.workload.requests_per_second * 2; }},
      {"prompts x2", always, [](PlanRequest& r) { scale_context(r, 2); }},
      {"prompts x8", always, [](PlanRequest& r) { scale_context(r, 8); }},
      {"outputs x4", always,
       [](PlanRequest& r) {
         r.workload.osl *= 4;
         if (r.max_model_len > 0) r.max_model_len = std::max(r.max_model_len, r.workload.tokens());
       }},
      {"TPOT target x0.5", has_tpot, [](PlanRequest& r) { r.targets.tpot = *r.targets.tpot * 0.5; }},
  };
  return changes;
}

std::vector<Sensitivity> sensitivities(const PlanRequest& request, const PlanResult& result) {
  std::vector<Sensitivity> out;
  if (result.plans.empty()) return out;
  const std::vector<Candidate> candidates = candidates_of(result);
  for (const Change& change : sensitivity_changes()) {
    if (change.applies(request)) out.push_back(try_change(request, change, candidates, result.plans.front()));
  }
  return out;
}

}  // namespace shardplan
