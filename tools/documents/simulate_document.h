// The document shardplan.simulate/1: what single requests met.
#pragma once

#include <optional>
#include <string>

#include "planner/simulated_traffic.h"
#include "sim/simulation.h"
#include "tools/documents/estimate_document.h"

namespace shardplan {

struct SimulateAnswer {
  EstimateAnswer estimate;                   // what the same configuration promises, or why it cannot be
  SimulatedTraffic traffic;
  std::optional<SimulationResult> result;    // nothing: illegal, or does not fit
};

// Whether the closed form describes the same traffic: it knows equal lengths only.
[[nodiscard]] bool has_steady_state(const SimulateAnswer& answer);

// Wall time and what wrote it apart, a function of the question.
[[nodiscard]] std::string simulate_document(const RequestFlags& flags, const SimulateAnswer& answer);

}  // namespace shardplan
