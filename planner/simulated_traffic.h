// Where the requests of a simulation come from: a recorded trace, a closed loop, or an open one.
//
// A trace is replayed as recorded, unless the workload has a concurrency or a rate: then only its lengths count, in their
// order and from the start again at its end. Without a trace lengths are the workload's isl and osl, or uniform whole
// numbers from length_ratio times them upwards (serving benchmarks: 0.8), or lognormal around them. With turns requests
// are conversations whose prompts repeat all that was said; lengths are then a turn's own. `prefix_tokens` open every
// first prompt alike, beside its own. Wrong: lengths and arrivals are independent.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "planner/workload.h"
#include "sim/workloads/lengths.h"
#include "sim/workloads/request_source.h"

namespace shardplan {

enum class Arrival : std::uint8_t { kPoisson, kEven, kGamma, kRamp };

struct SimulatedTraffic {
  std::string trace;               // file; empty: synthetic
  std::string trace_format;        // a row of trace_formats(); empty: by the first line
  std::int64_t requests = 0;       // 0: a replayed trace to its end, else kDefaultRequests
  RequestLengths nominal{.prompt_tokens = 0, .output_tokens = 0};   // of a request or a turn; 0: the workload's
  std::int64_t prefix_tokens = 0;
  double length_ratio = 1;         // above 0, at most 1
  Arrival arrival = Arrival::kPoisson;   // of an open loop
  double gamma_cv_ratio = 1;       // coefficient of variation of kGamma's gaps
  double ramp_from = 0;            // requests per second at the start of kRamp, which ends at the workload's rate
  Seconds ramp_over{60};
  double length_cv_ratio = 0;      // above 0: lognormal lengths with this coefficient of variation, isl and osl their means
  double trace_speed_ratio = 1;    // recorded gaps are divided by it
  std::int64_t turns = 1;          // of each conversation
  Seconds pause{0};                // mean time from an answer to the next turn
  std::uint64_t seed = 0;

  static constexpr std::int64_t kDefaultRequests = 1000;
};

// The request of the trace with the most tokens, prompt and output together; reads it to its end. InputError on a bad
// row (file, line, column), a trace without requests, or one without arrivals when the workload has no load either.
[[nodiscard]] RequestLengths longest_request(const SimulatedTraffic& traffic, const Workload& workload);

// The longest request that memory should be sized for: of a trace as above, of conversations the last turn, of lognormal
// lengths `kTail` times the mean.
[[nodiscard]] RequestLengths sizing_lengths(const SimulatedTraffic& traffic, const Workload& workload);

// `block_tokens`: of one identity of a shared prefix. InputError without a trace when the workload has neither
// concurrency nor rate.
[[nodiscard]] std::unique_ptr<RequestSource> make_source(const SimulatedTraffic& traffic, const Workload& workload, std::int64_t block_tokens = 16);

}  // namespace shardplan
