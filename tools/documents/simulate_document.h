// The document shardplan.simulate/1: what single requests met.
#pragma once

#include <optional>
#include <string>

#include "planner/capacity.h"
#include "planner/data_movement.h"
#include "planner/recorded_run.h"
#include "planner/simulated_traffic.h"
#include "sim/simulation.h"
#include "tools/documents/estimate_document.h"

namespace shardplan {

struct SimulateAnswer {
  EstimateAnswer estimate;                   // what the same configuration promises, or why it cannot be; the prefill pool's
  std::optional<EstimateAnswer> decode;      // of the decode pool, when there is one
  SimulatedTraffic traffic;
  std::optional<SimulationResult> result;    // nothing: illegal, or does not fit
  std::optional<Capacity> capacity;          // when the rate was looked for
  std::vector<RequestRecord> records;        // kept for a page, and beside a log that has answers: the first that end
  std::int64_t not_kept = 0;                 // of them
  std::vector<AnswerPair> recorded;          // a log's answers beside the simulated ones
  [[nodiscard]] std::int64_t gpus() const { return estimate.config.gpus() + (decode ? decode->config.gpus() : 0); }
};

// Beside the collectives; of two pools, the cache that is handed over.
[[nodiscard]] std::vector<DataMovement> movement_of(const SimulateAnswer& answer);

// Whether the closed form describes the same traffic: it knows equal lengths only.
[[nodiscard]] bool has_steady_state(const SimulateAnswer& answer);

// Wall time and what wrote it apart, a function of the question.
[[nodiscard]] std::string simulate_document(const RequestFlags& flags, const SimulateAnswer& answer);

}  // namespace shardplan
