#include "planner/measured/report.h"

#include <algorithm>
#include <cmath>

namespace shardplan {
namespace {

std::vector<Judged> peer_judged(const std::vector<ServingRow>& rows) {
  std::vector<Judged> out(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Observed& p = rows[i].peer;
    out[i].predicted = {.tpot = p.tpot.value_or(0), .ttft = p.ttft.value_or(0), .throughput = p.throughput.value_or(0)};
  }
  return out;
}

double tpot_error(const ValidateReport& r, std::size_t i) {
  if (!r.rows[i].measured.tpot || r.judged[i].predicted.tpot <= 0) return 0;
  return std::abs(std::log(r.judged[i].predicted.tpot / *r.rows[i].measured.tpot));
}

}  // namespace

std::vector<ServingRow> rows_of_quality(const std::vector<ServingRow>& rows, const std::string& qualities) {
  if (qualities.empty()) return rows;
  std::vector<ServingRow> out;
  const std::string list = "," + qualities + ",";
  for (const ServingRow& row : rows) {
    if (row.quality.empty() || list.find("," + row.quality + ",") != std::string::npos) out.push_back(row);
  }
  return out;
}

ValidateReport validate_serving(const CsvTable& table, const ValidateOptions& options) {
  ValidateReport r;
  r.file = table.file();
  const std::vector<ServingRow> all = read_serving_rows(table);
  r.rows = rows_of_quality(all, options.qualities);
  r.left_out = static_cast<std::int64_t>(all.size() - r.rows.size());
  r.priced = price_rows(r.rows, table);
  const EngineTimesTable& times_table = options.times != nullptr ? *options.times : shipped_engine_times();
  r.judged.resize(r.rows.size());
  for (std::size_t i = 0; i < r.rows.size(); ++i) {
    if (!r.priced[i].legal) continue;
    const EngineTimes times = times_table.resolve(r.priced[i].key);
    r.judged[i] = {serve_row(r.priced[i], times), row_spread(r.priced[i], times)};
    ++r.legal;
    ++r.predicted;
    if (!r.priced[i].holds) ++r.apart_count;
  }
  const auto holds = [&](std::size_t i) { return r.priced[i].legal && r.priced[i].holds; };
  const auto beside = [&](std::size_t i) { return r.priced[i].legal && r.rows[i].peer.tpot.has_value(); };
  const auto any = [&](std::size_t i) { return r.priced[i].legal; };
  r.overall = errors_of(r.rows, r.judged, holds);
  r.apart = errors_of(r.rows, r.judged, [&](std::size_t i) { return any(i) && !r.priced[i].holds; });
  r.peer = peer_errors(r.rows, beside);
  r.ours_beside_peer = errors_of(r.rows, r.judged, beside);
  r.groups =
      group_errors(r.rows, r.priced, r.judged, [&](std::size_t i) { return !r.priced[i].legal || r.priced[i].holds; });
  r.rank = rank_quality(r.rows, r.judged, any);
  r.peer_rank = rank_quality(r.rows, peer_judged(r.rows), beside);
  for (std::size_t i = 0; i < r.rows.size(); ++i) {
    if (holds(i)) r.worst.push_back(i);
  }
  std::stable_sort(r.worst.begin(), r.worst.end(),
                   [&](std::size_t a, std::size_t b) { return tpot_error(r, a) > tpot_error(r, b); });
  if (r.worst.size() > options.worst) r.worst.resize(options.worst);
  return r;
}

}  // namespace shardplan
