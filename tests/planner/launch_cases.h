// Plans made up for launch files: legal, with a ledger that fits and predictions that never move.
#pragma once

#include <string>
#include <vector>

#include "planner/export/check_launch.h"
#include "planner/export/launch.h"
#include "tests/planner/requests.h"

namespace shardplan {

// A plan of `config` as its engine runs it, without lowering: one fitting stage per pp.
[[nodiscard]] Plan made_plan(const PlanRequest& request, const ParallelConfig& config);
// What the checker says of a launch, one line each; empty when accepted.
[[nodiscard]] std::vector<std::string> faults_of(const PlanRequest& request, const Launch& launch,
                                                 PoolRole role = PoolRole::kServe);
[[nodiscard]] const LaunchFile& file_named(const Launch& launch, const std::string& ending);
// The same files with one text replaced; `from` must be there.
[[nodiscard]] Launch edited(Launch launch, const std::string& from, const std::string& to);

}  // namespace shardplan
