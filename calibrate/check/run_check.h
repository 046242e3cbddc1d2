// One configuration of a small transformer, run and held against what the graphs claim.
//
// Numbers: prefill in chunks, then decode steps that embed what was sampled, with a prompt arriving among them; every value
// of every rank against the unsharded run. Bytes: what the communicator counted against the graph's traffic. Memory: an
// even decode step and its cache; weights and cached rows as they lie on the fullest rank must be the ledger's to the byte (of a window that is
// striped over ranks between its own tokens and the blocks they touch), the
// activations that are live at once at most the ledger's peak, rows of experts counted as spread evenly. Time: that decode step, against the price if there is a profile.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "calibrate/check/check_case.h"
#include "calibrate/proof.h"
#include "hwprofiles/profile.h"

namespace shardplan {

struct CheckOptions {
  std::uint64_t seed = 3;
  Storage storage = Storage::kFp32;
  const Kernels* kernels = nullptr;            // nullptr: the host's
  std::shared_ptr<Transport> transport;        // nullptr: threads
  Tamper* tamper = nullptr;
  std::chrono::milliseconds timeout{10000};
  const HardwareProfile* hardware = nullptr;   // prices the step; nullptr: no prediction
  int repeats = 5;                             // of the timed step
};

struct CheckRow {
  std::string lowering;
  std::string model;
  ParallelConfig config;
  ProofResult proof;
  HeldBytes held;                 // of the even decode step, on the fullest rank
  HeldBytes ledger;
  double least_cache = 0;         // the ledger's but for blocks that a striped window touches in part
  double measured_seconds = 0;    // median
  std::optional<double> predicted_seconds;
  std::string refusal;            // the rule, where the table has no graph
  std::vector<std::string> faults;   // what does not hold; empty: all does
  [[nodiscard]] bool holds() const { return faults.empty(); }
};

// EnvironmentError when ranks are lost; everything else that goes wrong is a fault of the row.
[[nodiscard]] CheckRow run_check(const CheckCase& check_case, const CheckOptions& options);

}  // namespace shardplan
