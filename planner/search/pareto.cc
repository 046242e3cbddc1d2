#include "planner/search/pareto.h"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "planner/search/serve.h"
#include "planner/search/table_search.h"
#include "planner/targets.h"

namespace shardplan {
namespace {

constexpr std::size_t kPerClass = 2;  // candidates of each (instance size, tp)
constexpr std::size_t kMostCandidates = 160;
constexpr std::size_t kShortSearch = 128;  // tables that a short search costs, best bound first
constexpr std::size_t kFromShort = 8;      // candidates that it gives
constexpr std::size_t kMostPoints = 16;    // of the front that is shown

void add_distinct(std::vector<Costed>& list, const Costed& c) {
  const bool known =
      std::any_of(list.begin(), list.end(), [&c](const Costed& other) { return other.config == c.config; });
  if (!known) list.push_back(c);
}

// The best configurations of every (instance size, tensor width), in rank order.
std::vector<Costed> best_of_classes(const std::vector<Costed>& ranked) {
  std::map<std::pair<std::int64_t, std::int64_t>, std::size_t> taken;
  std::vector<Costed> out;
  for (const Costed& c : ranked) {
    if (out.size() >= kMostCandidates) break;
    std::size_t& count = taken[{c.config.instance_gpus(), c.config.tp}];
    if (count >= kPerClass) continue;
    ++count;
    out.push_back(c);
  }
  return out;
}

// The best of a short search under a changed request.
std::vector<Costed> short_search(const PlanRequest& request, const CollectivePricer& collectives) {
  TableSearch search(request, collectives, kShortSearch);
  SearchStats unused;
  search.run(unused);
  std::vector<Costed> best = search.found();
  if (best.size() > kFromShort) best.resize(kFromShort);
  return best;
}

std::vector<Costed> loads_of(const PlanRequest& request, const Costed& candidate, const CollectivePricer& collectives) {
  if (request.workload.concurrency || request.workload.requests_per_second) return {candidate};
  std::vector<Costed> loads;
  Deployment deployment(request, candidate.config, candidate.setting, collectives);
  const double most = best_concurrency(deployment.serving_input(), request.workload, {});
  for (double requests = 1;; requests *= 2) {
    Costed load = candidate;
    load.serving = estimate_serving(deployment.serving_input(),
                                    closed_workload(request, std::min(requests, most), candidate.config.replicas));
    if (load.serving.feasible) loads.push_back(load);
    if (requests >= most) return loads;
  }
}

// Every front has its ends; what lies between is thinned evenly.
void thin(std::vector<std::size_t>& front) {
  if (front.size() <= kMostPoints) return;
  std::vector<std::size_t> kept;
  for (std::size_t i = 0; i < kMostPoints; ++i) kept.push_back(front[i * (front.size() - 1) / (kMostPoints - 1)]);
  front = kept;
}

}  // namespace

std::vector<std::size_t> non_dominated(const std::vector<FrontPoint>& points) {
  std::vector<std::size_t> order(points.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&points](std::size_t a, std::size_t b) {
    return points[a].x != points[b].x ? points[a].x > points[b].x : points[a].y > points[b].y;
  });
  std::vector<std::size_t> front;
  for (const std::size_t i : order) {
    if (front.empty() || points[i].y > points[front.back()].y) front.push_back(i);
  }
  return front;
}

std::vector<Costed> front_candidates(const PlanRequest& request, const std::vector<Costed>& ranked,
                                     const CollectivePricer& collectives) {
  std::vector<Costed> candidates = best_of_classes(ranked);
  if (request.workload.concurrency || request.workload.requests_per_second || ranked.empty()) return candidates;
  PlanRequest fast = request;
  fast.objective = Objective::kInteractivity;
  fast.targets = {};
  const std::vector<Costed> fastest = short_search(fast, collectives);
  for (const Costed& c : fastest) add_distinct(candidates, c);
  if (fastest.empty()) return candidates;
  PlanRequest middle = fast;
  middle.objective = Objective::kThroughput;
  middle.targets.tpot = Seconds(std::sqrt(fastest.front().serving.tpot.value() * ranked.front().serving.tpot.value()));
  for (const Costed& c : short_search(middle, collectives)) add_distinct(candidates, c);
  return candidates;
}

std::vector<Plan> pareto_front(const PlanRequest& request, const std::vector<Costed>& candidates,
                               const CollectivePricer& collectives) {
  std::vector<std::vector<Costed>> by_candidate(candidates.size());
  tbb::parallel_for(std::size_t{0}, candidates.size(),
                    [&](std::size_t i) { by_candidate[i] = loads_of(request, candidates[i], collectives); });
  std::vector<Costed> loads;
  std::vector<FrontPoint> points;
  for (const auto& list : by_candidate) {
    for (const Costed& load : list) {
      loads.push_back(load);
      points.push_back({load.serving.tokens_per_second_per_user, load.serving.output_tokens_per_second_per_gpu});
    }
  }
  std::vector<std::size_t> front = non_dominated(points);
  thin(front);
  std::vector<Plan> plans;
  for (const std::size_t i : front) plans.push_back(make_plan(request, loads[i], collectives));
  return plans;
}

}  // namespace shardplan
