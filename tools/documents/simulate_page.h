// The report of `shardplan simulate` as one HTML page: the table, distributions of what requests met as inline SVG, those
// of a recorded run beside them where the trace has answers, and the run over time; opens offline.
#pragma once

#include <string>

#include "tools/documents/simulate_document.h"

namespace shardplan {

// `table`: what the command prints.
[[nodiscard]] std::string simulate_page(const SimulateAnswer& answer, const std::string& table);

}  // namespace shardplan
