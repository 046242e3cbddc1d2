// A run as a timeline that Perfetto and chrome://tracing open: one process per instance, one row per batch in flight.
//
// Trace event format (JSON array form), times in microseconds. Written as it comes; a run of decode steps is one slice
// that says how many. Stops, and says so, after `most` slices.
#pragma once

#include <cstdint>
#include <iosfwd>

#include "sim/instance.h"
#include "sim/metrics/time_series.h"

namespace shardplan {

class Timeline {
 public:
  explicit Timeline(std::ostream& out, std::int64_t most = 1'000'000);
  ~Timeline();   // closes the array
  Timeline(const Timeline&) = delete;
  Timeline& operator=(const Timeline&) = delete;

  void add(const StepRecord& step);
  void add(const SeriesPoint& point);

 private:
  [[nodiscard]] bool room();

  std::ostream& out_;
  std::int64_t left_;
  bool first_ = true;
};

}  // namespace shardplan
