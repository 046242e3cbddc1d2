// The machine behind a recorded run, where its profile is a datasheet's: four factors on the profile, fitted so that a
// simulation of the run meets what its requests met. For tests alone: the program makes overlays of serving points
// (calibrate fit --serving) and profiles of measured kernels.
//
//   minimise  w * sum over requests of rho(log(tpot/measured)/s_tpot) + rho(log(ttft/measured)/s_ttft)
//             + sum over factors of (log factor / s_factor)^2,   w = 12/requests
// A weight read from memory and the latency of an exchange both cost every step the same, whatever it holds: one run
// does not tell them apart, and neither arithmetic from the rate of links. What devices are known to reach of their
// datasheets does: bandwidth within a tenth, arithmetic within a fifth; links are free. Gauss-Newton, some thirty
// replays.
#pragma once

#include "planner/plan.h"
#include "planner/recorded_run.h"

namespace shardplan {

struct MachineFactors {
  double bandwidth_ratio = 1;  // of memory
  double arithmetic_ratio = 1;
  double link_rate_ratio = 1;  // of every collective
  double link_latency_ratio = 1;
};

[[nodiscard]] HardwareProfile scaled_machine(HardwareProfile hardware, const MachineFactors& factors);

struct RecordedRun {
  PlanRequest request;  // on the machine as its profile says; lengths are taken from the log
  ParallelConfig config;
  std::string log;
  std::vector<RecordedAnswer> answers;
};

// The run simulated on the scaled machine.
[[nodiscard]] std::vector<AnswerPair> replay(const RecordedRun& run, const MachineFactors& factors);
[[nodiscard]] MachineFactors fit_machine(const RecordedRun& run);

}  // namespace shardplan
