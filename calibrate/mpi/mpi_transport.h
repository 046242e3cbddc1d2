// Ranks as MPI processes: rank r is process r of the world, one each.
//
// Messages are sent without waiting and received by looking, so that a wait can end: with a message, with word of another
// rank's failure, or after the timeout. Never calls a collective of MPI, which would hang with a lost rank. A process that is
// told to end (mpirun does so when another has died) first says which rank it was and what it was doing.
#pragma once

#include <memory>

#include "calibrate/transport.h"

namespace shardplan {

// Whether a launcher started this process as one of several.
[[nodiscard]] bool launched_by_mpi();
// Joins the world. Leaving it is orderly unless an exception is on its way: the launcher then ends the other processes.
// EnvironmentError when MPI does not start.
[[nodiscard]] std::shared_ptr<Transport> join_mpi();

}  // namespace shardplan
