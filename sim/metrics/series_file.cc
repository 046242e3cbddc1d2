#include "sim/metrics/series_file.h"

#include <fmt/format.h>

#include <ostream>

namespace shardplan {

void write_series(const std::vector<SeriesPoint>& series, std::ostream& out) {
  out << "time_seconds,running,waiting,kv_use_ratio,link_use_ratio,completed,output_tokens\n";
  for (const SeriesPoint& p : series) {
    out << fmt::format("{:.6f},{},{},{:.6f},{:.6f},{},{}\n", to_seconds(p.time).value(), p.running, p.waiting, p.kv_use_ratio,
                       p.link_use_ratio, p.completed, p.output_tokens);
  }
}

}  // namespace shardplan
