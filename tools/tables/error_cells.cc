#include "tools/tables/error_cells.h"

#include <fmt/format.h>

namespace shardplan {

ErrorCells cells_of(const ErrorStats& e) {
  if (e.count == 0) return {"0", "-", "-", "-", "-", "-"};
  const auto percent = [](double ratio) { return fmt::format("{:.1f}", ratio * 100); };
  return {.count = fmt::format("{}", e.count),
          .mean = percent(e.mean_ape),
          .median = percent(e.median_ape),
          .p90 = percent(e.p90_ape),
          .bias = fmt::format("{:+.1f}", e.bias_median * 100),
          .coverage = e.interval_coverage ? percent(*e.interval_coverage) : "-"};
}

}  // namespace shardplan
