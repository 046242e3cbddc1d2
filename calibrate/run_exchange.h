// What the processes of a run tell one another when it has ended.
#pragma once

#include "calibrate/executor.h"
#include "calibrate/transport.h"

namespace shardplan {

// Values of every rank come to every process; nothing to do where one process has them all.
void exchange_values(Transport& transport, Transport::Milliseconds timeout, RunResult& result);

// Of ranks (empty where another process ran them): the slowest of each repetition, the fullest of all.
[[nodiscard]] TimedRun slowest_of(Transport& transport, Transport::Milliseconds timeout, const std::vector<std::vector<Sample>>& samples,
                                  const std::vector<HeldBytes>& held);

}  // namespace shardplan
