// The front of tokens/s/GPU against tokens/s/user.
//
// With free traffic each candidate is loaded with 1, 2, 4, ... requests per instance up to what it holds; with fixed
// traffic it has one point. A point is on the front when no other is at least as good in both. Candidates are the best
// of every instance size and tensor width, and, with free traffic, the best of two short searches: for the fastest user
// and for the middle between both ends. Wrong where a point between needs a table that none of these saw.
#pragma once

#include <vector>

#include "planner/search/select.h"

namespace shardplan {

// `ranked` is best first by the objective.
[[nodiscard]] std::vector<Costed> front_candidates(const PlanRequest& request, const std::vector<Costed>& ranked,
                                                   const CollectivePricer& collectives);

// Fastest user first. Targets are not looked at, but plans say whether they meet them.
[[nodiscard]] std::vector<Plan> pareto_front(const PlanRequest& request, const std::vector<Costed>& candidates,
                                             const CollectivePricer& collectives);

// Indices of the points that no other dominates, by falling x. Equal points keep the first.
struct FrontPoint {
  double x = 0;
  double y = 0;
};
[[nodiscard]] std::vector<std::size_t> non_dominated(const std::vector<FrontPoint>& points);

}  // namespace shardplan
