// Degrees and variants that the user fixed by flags: what a search may not change.
//
// One row per name of PlanRequest::fixed_names. A searched field is narrowed to its given value; a field that is not
// searched (dense_tp, interleave, ...) is copied into every configuration.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "planner/plan.h"

namespace shardplan {

[[nodiscard]] bool is_fixed(const PlanRequest& request, std::string_view name);
// Copies the given fields that no enumeration varies into `config`.
void copy_fixed(const PlanRequest& request, ParallelConfig& config);
// Whether every given field of `config` has its given value; a given variant that its degrees make meaningless agrees.
[[nodiscard]] bool agrees_with_fixed(const PlanRequest& request, const ParallelConfig& config);
// The values a degree may take: its given one, or 1..limit.
[[nodiscard]] std::vector<std::int64_t> degree_values(const PlanRequest& request, std::string_view name,
                                                      std::int64_t limit);
// Names that fixed_names may hold, for error messages of the command line.
[[nodiscard]] std::vector<std::string> fixable_names();

}  // namespace shardplan
