// The objects `serving` and `simulated` of a document: the predicted steady state, and what single requests met.
#pragma once

#include "planner/plan.h"
#include "tools/documents/document.h"

namespace shardplan {

// Of a capacity factor.
[[nodiscard]] Document drops_document(const ExpertDrops& drops);
[[nodiscard]] Document serving_document(const ServingEstimate& serving);
[[nodiscard]] Document simulated_document(const SimulatedServing& simulated);

// Siblings `key`_p10 and `key`_p90 of a number that is there, from the standard deviation of its logarithm.
void add_interval(Document& to, const char* key, double spread);

}  // namespace shardplan
