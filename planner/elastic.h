// What it costs to change the number of attention groups of an instance that goes on serving: elastic expert
// parallelism.
//
//   prepare   while the old layout serves: each new rank takes what is no expert from an old one
//   switch    no step starts; the new group's communicators take over, experts move layer by layer to where the new
//   layout
//             has them, and so do slices over all ranks (dense and shared FFNs); CUDA graphs are captured again, steps go
//             on
// Requests and caches stay on the ranks that stay. Of ranks that go, the cache is lost: their requests start over,
// unless the switch waits until all requests have ended (drain). One buffer of a layer's experts on a rank lasts as
// long as the engine. Bytes are read off the step graphs of both layouts (costmodel/weight_moves.h) and priced with the
// fabric: a copy to a new rank as a send, the experts of a layer as an all-to-all in which each rank moves as much as
// the busiest receives. What communicators and captured graphs take is a constant that nobody has measured for us
// (kSwitchSeconds). Wrong: serving beside copies is not slowed down; an engine may place experts by what it has seen,
// and move fewer. Source: vLLM's Elastic EP (docs and --enable-elastic-ep).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "planner/data_movement.h"
#include "planner/plan.h"

namespace shardplan {

inline constexpr Seconds kSwitchSeconds{10};  // communicators and CUDA graphs: assumed

// Why an instance of `config` cannot go on with `ranks` ranks; empty when it can. `config` is legal.
[[nodiscard]] std::string scale_obstacle(const PlanRequest& request, const ParallelConfig& config, std::int64_t ranks);
// The layout with as many attention groups and ranks of ep as it takes. Precondition: ranks divide by a group.
[[nodiscard]] ParallelConfig scaled_config(const PlanRequest& request, const ParallelConfig& config,
                                           std::int64_t ranks);

struct ScaleCost {
  std::int64_t from = 0;  // ranks
  std::int64_t to = 0;
  double copied_bytes = 0;       // what is no expert, to all new ranks
  double copied_rank_bytes = 0;  // to each of them
  double resliced_bytes = 0;     // what is no expert, to ranks that stay: slices over all ranks
  double expert_bytes = 0;       // to all ranks
  double expert_rank_bytes = 0;  // to the rank that takes most
  double staging_bytes = 0;      // on each rank, as long as the engine runs
  std::int64_t lost_groups = 0;  // attention groups that go
  double lost_requests = 0;      // that run there in the steady state, and start over
  Seconds prepare;               // while the old layout serves
  Seconds reshuffle;             // experts, while nothing is served
  Seconds reslice;               // slices of what is no expert, likewise
  Seconds fixed;                 // communicators and CUDA graphs, likewise
  bool fits = true;              // both layouts hold a request
  [[nodiscard]] Seconds pause() const { return reshuffle + reslice + fixed; }
};

// Preconditions: both are legal layouts of the request's model, alike but for attention groups and ep; `cluster` has
// room for the larger one. `running`: requests in an instance. Throws LoweringRefusal.
[[nodiscard]] ScaleCost scale_cost(const PlanRequest& request, const ParallelConfig& from, const ParallelConfig& to,
                                   double running, Seconds fixed = kSwitchSeconds);

// What PlanRequest::scale_to costs the plan, row by row.
void add_scale_rows(const PlanRequest& request, const Plan& plan, std::vector<DataMovement>& rows);

}  // namespace shardplan
