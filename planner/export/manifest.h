// A replica over several nodes in Kubernetes: a LeaderWorkerSet, one group of pods per replica and one pod per node.
//
// The pods run the command of the launch script with NODE, MASTER_ADDR and PORT from the set. Under MPI the leader
// starts all ranks over ssh and workers only listen. Needs the LeaderWorkerSet controller (leaderworkerset.x-k8s.io/v1)
// and the NVIDIA device plugin. Beside it: a Service for the leaders, a ConfigMap where the engine reads a file.
#pragma once

#include "planner/export/launch.h"

namespace shardplan {

[[nodiscard]] LaunchFile leader_worker_set(const PlanRequest& request, const Plan& plan, const Launch& launch,
                                           const EngineLaunch& engine);

}  // namespace shardplan
