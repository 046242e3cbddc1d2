#include "planner/elastic.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/units.h"
#include "costmodel/weight_moves.h"
#include "planner/cluster.h"
#include "planner/deployment.h"

namespace shardplan {
namespace {

// A graph of both layouts, and how often an instance runs it.
struct GraphOfBoth {
  const StepGraph& before;
  const StepGraph& after;
  std::int64_t count = 0;
  bool with_tables = true;  // those of the vocabulary are its own
};

std::vector<GraphOfBoth> graphs_of(const ModelSpec& model, const LoweredModel& before, const LoweredModel& after) {
  const StageGraphs& old = before.forms.front();
  const StageGraphs& now = after.forms.front();
  std::vector<GraphOfBoth> graphs{{old.embedding, now.embedding, 1}, {old.head, now.head, 1, !model.tied_embeddings}};
  for (std::size_t k = 0; k < now.layers.size(); ++k)
    graphs.push_back({old.layers[k], now.layers[k], model.layers_of_kind(static_cast<int>(k))});
  if (!now.draft) return graphs;
  for (const auto& module : now.draft->modules) {
    graphs.push_back({old.draft->entry, now.draft->entry, 1, false});
    graphs.push_back({old.draft->head, now.draft->head, 1, false});
    for (const std::size_t layer : module) graphs.push_back({old.draft->layers[layer], now.draft->layers[layer], 1});
  }
  return graphs;
}

// The old ranks serve as many new ones each, one after the other, all at the same time.
Seconds copy_time(const CollectivePricer& collectives, const ScaleCost& cost) {
  const std::int64_t fresh = cost.to - cost.from;
  if (cost.copied_rank_bytes <= 0 || fresh <= 0) return Seconds(0);
  const GroupShape pair{{{2, cost.from}}, {{std::min(cost.from, fresh), 1}}};
  const Seconds one = collectives.curve(CollectiveKind::kSendReceive, pair, 1).direct(cost.copied_rank_bytes).time;
  return one * static_cast<double>(ceil_div(fresh, cost.from));
}

// What one layer moves among all ranks of the larger layout.
Seconds exchange_time(const CollectivePricer& collectives, std::int64_t ranks, double received) {
  if (received <= 0 || ranks < 2) return Seconds(0);
  const double sent = static_cast<double>(ranks - 1) / static_cast<double>(ranks);
  return collectives.curve(CollectiveKind::kAllToAll, {{{ranks, 1}}, {}}, sent).direct(received / sent).time;
}

void add_moves(const PlanRequest& request, const LoweredModel& before, const LoweredModel& after,
               const ParallelConfig& from, const ParallelConfig& to, const CollectivePricer& collectives,
               ScaleCost& cost) {
  std::vector<double> copied(static_cast<std::size_t>(cost.to), 0.0);
  std::vector<double> experts(copied);
  for (const GraphOfBoth& graph : graphs_of(request.model, before, after)) {
    if (graph.count == 0) continue;
    const std::vector<LackedBytes> lacked =
        lacked_bytes({graph.before, from}, {graph.after, to}, request.price.expert_load, graph.with_tables);
    const auto count = static_cast<double>(graph.count);
    const std::int64_t ranks = std::max(cost.from, cost.to);
    double most = 0;
    double most_resliced = 0;
    for (std::size_t r = 0; r < lacked.size(); ++r) {
      experts[r] += lacked[r].experts * count;
      most = std::max(most, lacked[r].experts);
      if (static_cast<std::int64_t>(r) >= cost.from) {
        copied[r] += lacked[r].others * count;
        continue;
      }
      cost.resliced_bytes += lacked[r].others * count;
      most_resliced = std::max(most_resliced, lacked[r].others);
    }
    cost.reshuffle += exchange_time(collectives, ranks, most) * count;
    cost.reslice += exchange_time(collectives, ranks, most_resliced) * count;
  }
  for (std::size_t r = 0; r < copied.size(); ++r) {
    cost.copied_bytes += copied[r];
    cost.expert_bytes += experts[r];
    cost.copied_rank_bytes = std::max(cost.copied_rank_bytes, copied[r]);
    cost.expert_rank_bytes = std::max(cost.expert_rank_bytes, experts[r]);
  }
}

Bytes bytes_of(double bytes) { return Bytes(static_cast<std::int64_t>(bytes)); }

double staging_of(const Ledger& ledger) {
  for (const LedgerItem& item : ledger.stages.front().workspace) {
    if (item.owner == kElasticStaging) return static_cast<double>(item.bytes.value());
  }
  return 0;
}

}  // namespace

std::string scale_obstacle(const PlanRequest& request, const ParallelConfig& config, std::int64_t ranks) {
  const std::int64_t group = config.tp * config.pcp;
  const std::int64_t unit = std::lcm(group, config.moe_tp);
  if (!config.variant.elastic_ep) return "the ranks of an instance are fixed without --elastic-ep";
  if (ranks < 1 || ranks % unit != 0)
    return unit == group
               ? fmt::format("they are no whole number of attention groups of {}", group)
               : fmt::format("they do not divide by {}: attention groups of {}, experts sliced over {} (moe_tp)", unit,
                             group, config.moe_tp);
  const ParallelConfig scaled = scaled_config(request, config, ranks);
  const std::vector<Violation> violations = violations_of(request, scaled);
  if (!violations.empty()) return violations.front().message;
  try {
    const Cluster cluster(request, ranks);
    const Deployment deployment(request, scaled, {}, cluster.collectives());
    return deployment.ledger().fits ? "" : deployment.ledger().misfit;
  } catch (const LoweringRefusal& refusal) {
    return refusal.what();
  }
}

ParallelConfig scaled_config(const PlanRequest& request, const ParallelConfig& config, std::int64_t ranks) {
  ParallelConfig scaled = config;
  scaled.dpa = ranks / (config.tp * config.pcp);
  scaled.ep = ranks / config.moe_tp;
  if (config.dense_tp == config.stage_ranks()) scaled.dense_tp = ranks;
  if (config.shared_expert_tp == config.stage_ranks()) scaled.shared_expert_tp = ranks;
  return engine_of(request).settled(request.model, scaled);
}

ScaleCost scale_cost(const PlanRequest& request, const ParallelConfig& from, const ParallelConfig& to, double running,
                     Seconds fixed) {
  ScaleCost cost{.from = from.stage_ranks(), .to = to.stage_ranks(), .fixed = fixed};
  const Cluster cluster(request, std::max(cost.from, cost.to));
  const Deployment before(request, from, {}, cluster.collectives());
  const Deployment after(request, to, {}, cluster.collectives());
  add_moves(request, before.lowered(), after.lowered(), from, to, cluster.collectives(), cost);
  cost.prepare = copy_time(cluster.collectives(), cost);
  cost.staging_bytes = std::max(staging_of(before.ledger()), staging_of(after.ledger()));
  cost.lost_groups = std::max<std::int64_t>(0, from.dpa - to.dpa);
  cost.lost_requests = running * static_cast<double>(cost.lost_groups) / static_cast<double>(from.dpa);
  cost.fits = before.ledger().fits && after.ledger().fits;
  return cost;
}

void add_scale_rows(const PlanRequest& request, const Plan& plan, std::vector<DataMovement>& rows) {
  for (const std::int64_t ranks : request.scale_to) {
    const std::int64_t now = plan.config.stage_ranks();
    if (ranks == now) continue;
    const std::string per = fmt::format("scaling {} to {}", now, ranks);
    const std::string obstacle = scale_obstacle(request, plan.config, ranks);
    if (!obstacle.empty()) {
      rows.push_back(
          {"nothing", "old layout", "new layout", per, 0, "none", Seconds(0), false, "not possible: " + obstacle});
      continue;
    }
    const ScaleCost cost =
        scale_cost(request, plan.config, scaled_config(request, plan.config, ranks), plan.serving.running);
    const char* link =
        std::max(now, ranks) <= request.hardware.node.domain ? request.hardware.node.scale_up.kind.c_str() : "nic";
    const auto replicas = static_cast<double>(plan.config.replicas);
    if (cost.copied_bytes > 0)
      rows.push_back({"weights but experts", "old ranks", "new ranks", per, cost.copied_bytes * replicas, link,
                      cost.prepare, false,
                      fmt::format("{} to each new rank while the old layout serves",
                                  format_bytes(bytes_of(cost.copied_rank_bytes)))});
    rows.push_back(
        {"experts", "old layout", "new layout", per, cost.expert_bytes * replicas, link, cost.reshuffle, true,
         fmt::format("{} to the busiest rank through a buffer of {}; nothing is served",
                     format_bytes(bytes_of(cost.expert_rank_bytes)), format_bytes(bytes_of(cost.staging_bytes)))});
    if (cost.resliced_bytes > 0)
      rows.push_back({"slices over all ranks", "old layout", "new layout", per, cost.resliced_bytes * replicas, link,
                      cost.reslice, true, "dense and shared FFNs of ranks that stay; nothing is served"});
    rows.push_back({"communicators, CUDA graphs", "host", "device", per, 0, "none", cost.fixed, true,
                    "assumed; nothing is served"});
    if (cost.lost_groups == 0) continue;
    const double cache = plan.ledger.cache_bytes(0, request.workload.isl + request.workload.osl / 2) *
                         static_cast<double>(plan.config.tp * plan.config.pcp);
    rows.push_back({"cache of groups that go", "device", "lost", per, cache * cost.lost_requests * replicas, "none",
                    Seconds(0), false,
                    fmt::format("about {:.0f} requests of {} groups start over", cost.lost_requests * replicas,
                                cost.lost_groups)});
  }
}

}  // namespace shardplan
