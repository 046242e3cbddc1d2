// A run over time in bounded memory: samples at equal distances, thinned to every other one when there are too many.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/sim_time.h"

namespace shardplan {

struct SeriesPoint {
  SimTime time;
  std::int64_t running = 0;
  std::int64_t waiting = 0;            // in engine queues
  double kv_use_ratio = 0;             // of all blocks, cached ones that nobody uses left out
  std::int64_t completed = 0;          // since the start
  std::int64_t output_tokens = 0;      // of those
  double link_use_ratio = 0;           // of what all sending links could have carried since the point before
};

class TimeSeries {
 public:
  // Keeps between most/2 and `most` points. Preconditions: interval > 0, most >= 2.
  TimeSeries(SimTime interval, std::size_t most) : interval_(interval), most_(most) {}
  void add(const SeriesPoint& point);
  [[nodiscard]] SimTime interval() const { return interval_; }   // until the next point
  [[nodiscard]] const std::vector<SeriesPoint>& points() const { return points_; }

 private:
  SimTime interval_;
  std::size_t most_;
  std::vector<SeriesPoint> points_;
};

}  // namespace shardplan
