// A wire of TCP connections between the processes of a launcher that is not MPI's.
//
// Rank 0 waits at its address; every other rank calls it and says who it is and where it listens itself; then each two
// ranks have a connection of their own. Processes of other versions of the program are refused.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "calibrate/launch/launched_rank.h"
#include "calibrate/launch/letter_transport.h"

namespace shardplan {

// EnvironmentError naming the ranks that have not come within `patience`, an address that cannot be had, or a process
// that is no rank of this run.
[[nodiscard]] std::unique_ptr<Wire> connect_sockets(const LaunchedRank& self, const std::string& version,
                                                    std::chrono::milliseconds patience);

}  // namespace shardplan
