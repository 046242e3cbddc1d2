// How far predictions are off, as JSON.
#pragma once

#include "planner/measured/error_stats.h"
#include "tools/documents/document.h"

namespace shardplan {

// `counted`: what the errors are of, "rows" or "points".
[[nodiscard]] Document stats_document(const ErrorStats& stats, const char* counted);

}  // namespace shardplan
