// What would change the order of plans: one row per change of the machine or the traffic.
#pragma once

#include <vector>

#include "planner/explain.h"

namespace shardplan {

struct Change {
  const char* name;
  bool (*applies)(const PlanRequest&);
  void (*apply)(PlanRequest&);
};
[[nodiscard]] const std::vector<Change>& sensitivity_changes();

// Every change that applies, tried on the plans and on the best refused configuration of each family.
[[nodiscard]] std::vector<Sensitivity> sensitivities(const PlanRequest& request, const PlanResult& result);

}  // namespace shardplan
