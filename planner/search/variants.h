// The variants worth trying for given degrees, canonical: a variant that the degrees make meaningless keeps its
// default.
#pragma once

#include <vector>

#include "planner/plan.h"

namespace shardplan {

// `config` with every combination of dcp, pcp and expert variants that its degrees give a meaning, in a fixed order
// with defaults first. Fixed variants are respected; legality is not looked at.
[[nodiscard]] std::vector<ParallelConfig> with_variants(const PlanRequest& request, const ParallelConfig& config);

// `config` with every meaningless variant at its default: two configurations are the same iff these are equal.
[[nodiscard]] ParallelConfig canonical(ParallelConfig config);

}  // namespace shardplan
