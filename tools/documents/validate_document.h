// The document of `shardplan validate`: schema shardplan.validate/1.
#pragma once

#include <string>

#include "planner/measured/report.h"

namespace shardplan {

[[nodiscard]] std::string validate_document(const ValidateReport& report);

}  // namespace shardplan
