// The document shardplan.estimate/1: one configuration.
#pragma once

#include <string>

#include "planner/plan.h"
#include "tools/request/request_flags.h"

namespace shardplan {

struct EstimateAnswer {
  PlanRequest request;
  ParallelConfig config;
  BareSteps steps;
  EstimateResult result;
};

[[nodiscard]] std::string estimate_document(const RequestFlags& flags, const EstimateAnswer& answer);

}  // namespace shardplan
