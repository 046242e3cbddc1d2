// Plans that were simulated, in the order that the simulation gave them.
#pragma once

#include <string>
#include <vector>

#include "planner/plan.h"

namespace shardplan {

struct VerifiedRow {
  std::string layout;
  const SimulatedServing* simulated = nullptr;
};

// "" without rows. Ranks count from 1.
[[nodiscard]] std::string verified_table(const std::vector<VerifiedRow>& rows);

// Those of `plans`, best first, that were simulated: the first of them all.
template <class AnyPlan, class LayoutOf>
[[nodiscard]] std::vector<VerifiedRow> verified_rows(const std::vector<AnyPlan>& plans, const LayoutOf& layout_of) {
  std::vector<VerifiedRow> rows;
  for (std::size_t i = 0; i < plans.size() && plans[i].simulated; ++i)
    rows.push_back({layout_of(plans[i]), &*plans[i].simulated});
  return rows;
}

}  // namespace shardplan
