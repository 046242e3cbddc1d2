// Times one node on this machine's ranks: all ranks of its stage at once, the slowest counts.
//
// Warm-up, then samples until the stopping rule is content. Weights and caches rotate through as many copies as exceed the
// last-level cache twice, as they do in a step of many layers; activations are warm, as they are in a step. Data is random.
// Samples in which another program took a core away do not count.
#pragma once

#include <memory>

#include "calibrate/kernels/kernels.h"
#include "calibrate/run/node_case.h"
#include "calibrate/run/stopping_rule.h"
#include "calibrate/transport.h"

namespace shardplan {

struct NodeTimerOptions {
  StoppingRule rule;
  double cache_bytes = 32e6;                 // last level
  const Kernels* kernels = nullptr;          // nullptr: the host's
  std::shared_ptr<Transport> transport;      // nullptr: threads
  Transport::Milliseconds timeout{20000};
};

struct NodeTiming {
  SampleSummary seconds;
  std::size_t samples = 0;  // that count
  double clock_mhz = 0;     // of the fastest core or the device, when it was measured; 0: not told
  bool is_correct = true;   // what it computed is finite, and the same in a second run
  std::string note;         // of a device: what it chose
  std::string library;      // and whose kernel it is, where it measured several
};

// InternalError when a rank fails.
[[nodiscard]] NodeTiming time_node(const NodeCase& node_case, const NodeTimerOptions& options);

}  // namespace shardplan
