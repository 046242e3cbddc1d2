// The answer of `simulate` for people.
#pragma once

#include <string>

#include "tools/documents/simulate_document.h"

namespace shardplan {

[[nodiscard]] std::string simulate_table(const SimulateAnswer& answer, const RequestFlags& flags);

}  // namespace shardplan
