// The whole search: tables, ranking, front, and what would help when nothing is found. See planner/search/passes.h.
#include <chrono>

#include "planner/cluster.h"
#include "planner/notes.h"
#include "planner/search/nearest_feasible.h"
#include "planner/search/pareto.h"
#include "planner/search/passes.h"
#include "planner/search/table_search.h"
#include "planner/dropped_picks.h"
#include "planner/speculation_gain.h"

namespace shardplan {

PlanResult search_plans(const PlanRequest& request) {
  const auto start = std::chrono::steady_clock::now();
  PlanResult result;
  result.notes = notes_of(request);
  const Cluster cluster(request, request.gpus);
  TableSearch search(request, cluster.collectives());
  search.run(result.stats);
  {
    const PassTimer timer(result.stats, "select");
    for (const Costed& c : keep_best(request, search.found(), search.refused())) {
      result.plans.push_back(make_plan(request, c, cluster.collectives()));
      add_speculation_gain(request, result.plans.back());
      add_dropped_picks(request, result.plans.back());
    }
    result.rejected = search.refused().rows();
  }
  if (request.pareto) {
    const PassTimer timer(result.stats, "pareto");
    result.pareto =
        pareto_front(request, front_candidates(request, search.found(), cluster.collectives()), cluster.collectives());
  }
  if (result.plans.empty() && request.explain_empty) {
    const PassTimer timer(result.stats, "nearest_feasible");
    result.nearest_feasible = nearest_feasible(request, result.stats.fitting, search.refused());
  }
  result.stats.seconds_ratio = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return result;
}

}  // namespace shardplan
