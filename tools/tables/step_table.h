// One step: what its time consists of, operation by operation, and what it sends.
#pragma once

#include <string>

#include "costmodel/step_price.h"

namespace shardplan {

// `title` says which step: "Decode step of 64 sequences". Empty text for a step without tokens.
[[nodiscard]] std::string step_table(const std::string& title, const StepBreakdown& step);

}  // namespace shardplan
