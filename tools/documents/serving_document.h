// The object `serving` of a document: the predicted steady state.
#pragma once

#include "planner/serving.h"
#include "tools/documents/document.h"

namespace shardplan {

[[nodiscard]] Document serving_document(const ServingEstimate& serving);

// Siblings `key`_p10 and `key`_p90 of a number that is there, from the standard deviation of its logarithm.
void add_interval(Document& to, const char* key, double spread);

}  // namespace shardplan
