// How messages get from rank to rank: between threads of one process here, between processes in calibrate/mpi/.
//
// Messages between two ranks of one run arrive in the order they were sent. Whoever fails says so, and nobody waits for a
// rank that is gone: a wait ends with the message, with word of another rank's failure, or after the timeout.
#pragma once

#include <chrono>
#include <cstdint>
#include <exception>
#include <string>
#include <vector>

#include "calibrate/tamper.h"

namespace shardplan {

struct Message {
  std::vector<float> values;
  std::vector<std::int64_t> ids{};  // of dispatch and combine only; costs nothing, as engines send counts apart
  Operation sent_in{};              // what its sender was doing
};

// Ends a rank whose peer has failed; the peer's error is the one that is told.
class PeerFailed : public std::exception {};

class Transport {
 public:
  using Milliseconds = std::chrono::milliseconds;

  virtual ~Transport() = default;
  [[nodiscard]] virtual int ranks() const = 0;
  // Ranks that this process runs, below `used`; other processes run the rest.
  [[nodiscard]] virtual std::vector<int> local_ranks(int used) const = 0;

  // Starts a run on all processes: messages of an earlier one that nobody took are dropped.
  virtual void begin_run() = 0;
  virtual void post(int from, int to, Message message) = 0;
  // PeerFailed; EnvironmentError "waited 200 ms for rank 2, last heard of in all_reduce (step 0, node 3)".
  virtual Message take(int from, int to, Milliseconds timeout) = 0;
  // What a rank does from now on, for whoever waits for it or ends it.
  virtual void note(int /*rank*/, const Operation&) {}
  // The first failure is kept and wakes every rank.
  virtual void fail(const std::string& message) = 0;
  [[nodiscard]] virtual std::string failure() = 0;  // "" while all is well

  // What every process knows, made known to all, in process order; called by one thread of each. Afterwards all
  // processes agree on `failure`. EnvironmentError naming a process that does not answer.
  virtual std::vector<std::string> share(std::string mine, Milliseconds timeout) = 0;
  [[nodiscard]] virtual bool several_processes() const = 0;
};

[[nodiscard]] std::string operation_text(const Operation& operation);  // "all_reduce (step 0, node 3)"

}  // namespace shardplan
