// A time series as comma-separated values with a header; times in seconds since the start.
#pragma once

#include <iosfwd>
#include <vector>

#include "sim/metrics/time_series.h"

namespace shardplan {

void write_series(const std::vector<SeriesPoint>& series, std::ostream& out);

}  // namespace shardplan
