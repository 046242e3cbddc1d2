// Why the winner wins: what binds it, what the others failed on, what would change the order.
//
// Shares are of the time between two tokens: the decode step by what each part waits for (from the step's breakdown)
// and the prompts of other requests that share steps. Sensitivities re-run the kept plans and the best of every family
// under a changed request; a plan outside of these may win in truth: a full search would tell.
#pragma once

#include <string>
#include <vector>

#include "planner/plan.h"

namespace shardplan {

struct TimeShare {
  std::string what;  // "memory bandwidth", "compute", "communication", "other requests' prompts", ...
  Seconds time;
  double share_ratio = 0;
};

struct Sensitivity {
  std::string change;  // "NVLink bandwidth +10 %", "concurrency x2"
  bool order_changes = false;
  std::string winner;      // short text of who wins then
  double score_ratio = 0;  // of the old winner's score, after / before
  std::string message;     // one sentence
};

struct Explanation {
  bool found = false;               // there is a winner
  std::string winner;               // one sentence: what it is and what it does
  std::vector<TimeShare> shares;    // largest first
  std::string binds;                // one sentence: what the largest share means
  std::string capacity;             // what limits the requests at work
  std::string drops;                // what a capacity factor drops; empty without one
  std::string runner_up;            // one sentence with the margin; empty without one
  double margin_ratio = 0;          // winner's score / runner-up's - 1
  std::vector<Rejection> families;  // one row per family and reason, as the search found them
  std::vector<Sensitivity> sensitivity;
  std::vector<std::string> nearest_feasible;
};

[[nodiscard]] Explanation explain(const PlanRequest& request, const PlanResult& result);

}  // namespace shardplan
