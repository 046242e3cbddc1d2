#include "sim/metrics/time_series.h"

namespace shardplan {

void TimeSeries::add(const SeriesPoint& point) {
  points_.push_back(point);
  if (points_.size() < most_) return;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < points_.size(); i += 2) points_[kept++] = points_[i];
  points_.resize(kept);
  interval_ = interval_ * 2;
}

}  // namespace shardplan
