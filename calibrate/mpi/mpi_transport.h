// Ranks as MPI processes: rank r is process r of the world, one each; see LetterTransport.
#pragma once

#include <memory>

#include "calibrate/transport.h"

namespace shardplan {

// Whether a launcher of MPI started this process as one of several.
[[nodiscard]] bool launched_by_mpi();
// Joins the world. Leaving it is orderly unless an exception is on its way: the launcher then ends the other processes.
// EnvironmentError when MPI does not start.
[[nodiscard]] std::shared_ptr<Transport> join_mpi();

}  // namespace shardplan
