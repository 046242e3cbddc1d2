// The answer of `explain` for people.
#pragma once

#include <string>

#include "tools/documents/explain_document.h"

namespace shardplan {

[[nodiscard]] std::string explain_table(const ExplainAnswer& answer);

}  // namespace shardplan
