// The document shardplan.explain/1: why a plan's winner wins and what the others failed on.
#pragma once

#include <optional>
#include <string>

#include "planner/disaggregation/pools.h"
#include "planner/explain.h"
#include "planner/plan.h"
#include "tools/request/request_flags.h"

namespace shardplan {

struct ExplainAnswer {
  PlanRequest request;
  PlanResult result;
  std::optional<PoolsResult> pools;  // where the plan asked for them
  Explanation why;
  EstimateResult winner;  // the best plan in detail; not lowered when there is none
};

[[nodiscard]] std::string explain_document(const RequestFlags& flags, const ExplainAnswer& answer);

}  // namespace shardplan
