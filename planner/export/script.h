// One bash script serves every replica and every node of it: `./<engine>.sh [replica] [node]`.
//
// A replica inside a node gets its GPUs by CUDA_VISIBLE_DEVICES and its own port. A replica over several nodes runs the
// script on each, node 0 first, with MASTER_ADDR set; under MPI on node 0 alone, with HOSTS set.
#pragma once

#include <string>

#include "planner/export/launch.h"

namespace shardplan {

[[nodiscard]] LaunchFile launch_script(const PlanRequest& request, const Plan& plan, const Launch& launch,
                                       const EngineLaunch& engine);
// The engine's command in shell words, without what differs between nodes; `between` joins its lines.
[[nodiscard]] std::string command_text(const EngineLaunch& engine, const std::string& tail, bool one_line);
// "export NAME=value" lines.
[[nodiscard]] std::string environment_text(const EngineLaunch& engine);

// The mpirun that starts `ranks` ranks on $HOSTS, before the engine's own command.
[[nodiscard]] std::string mpi_prefix(const EngineLaunch& engine, std::int64_t ranks);

}  // namespace shardplan
