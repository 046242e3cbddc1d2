// The named steps of a search: what they do, whether they may be switched off, how long they took.
//
// A pruning pass leaves out what cannot be the best plan; each says why. Switching one off never changes the best
// plan: tests/planner/passes_test.cc.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "planner/plan.h"

namespace shardplan {

struct SearchPass {
  const char* name;
  bool prunes;       // may be switched off by PlanRequest::disabled_passes
  const char* help;  // what it does; for a pruning pass, why nothing is lost
  bool plain_layers_only = false;  // knows attention and FFN layers alone: off for models with other layers
};

[[nodiscard]] const std::vector<SearchPass>& search_passes();
// False when the request switches the pass off, or it does not know the model's layers; InternalError for a pass that does not exist.
[[nodiscard]] bool is_on(const PlanRequest& request, std::string_view pass);

// Adds the wall time of its life to a row of SearchStats::pass_seconds.
class PassTimer {
 public:
  PassTimer(SearchStats& stats, std::string name);
  ~PassTimer();
  PassTimer(const PassTimer&) = delete;
  PassTimer& operator=(const PassTimer&) = delete;

 private:
  SearchStats& stats_;
  std::string name_;
  std::chrono::steady_clock::time_point start_;
};

}  // namespace shardplan
