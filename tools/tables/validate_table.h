// What `shardplan validate` prints for people.
#pragma once

#include <string>

#include "planner/measured/report.h"

namespace shardplan {

[[nodiscard]] std::string validate_table(const ValidateReport& report);

}  // namespace shardplan
