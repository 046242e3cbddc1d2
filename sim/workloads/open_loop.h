// Requests that arrive whatever the server does: a recorded trace, or an arrival process with a length model.
#pragma once

#include <cstdint>
#include <memory>

#include "sim/workloads/arrivals.h"
#include "sim/workloads/lengths.h"
#include "sim/workloads/request_source.h"
#include "sim/workloads/trace.h"

namespace shardplan {

// A trace as recorded.
class TraceSource : public RequestSource {
 public:
  // Recorded gaps are divided by `speed_ratio` (2: twice the rate); only the first `most` requests. InputError when the
  // trace has no arrivals or speed_ratio is not positive.
  explicit TraceSource(std::unique_ptr<TraceReader> trace, double speed_ratio = 1, std::int64_t most = INT64_MAX);
  std::optional<SimTime> next_arrival() override;
  void take(RequestSpec& out) override;

 private:
  void read();

  std::unique_ptr<TraceReader> trace_;
  double speed_ratio_;
  std::int64_t left_;
  RequestSpec ahead_;
  bool has_ = false;
};

// Synthetic arrivals and lengths.
class OpenLoop : public RequestSource {
 public:
  OpenLoop(std::unique_ptr<ArrivalProcess> arrivals, std::unique_ptr<LengthModel> lengths, std::int64_t requests, std::uint64_t seed);
  std::optional<SimTime> next_arrival() override;
  void take(RequestSpec& out) override;

 private:
  std::unique_ptr<ArrivalProcess> arrivals_;
  std::unique_ptr<LengthModel> lengths_;
  std::int64_t requests_;
  std::int64_t taken_ = 0;
  Random arrival_random_;
  Random length_random_;
  SimTime ahead_;
};

// The lengths of a trace in its order, for traces without arrivals; starts over at the end.
[[nodiscard]] std::unique_ptr<LengthModel> trace_lengths(const std::string& path);

}  // namespace shardplan
