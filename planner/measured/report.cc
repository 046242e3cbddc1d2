#include "planner/measured/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/errors.h"
#include "planner/measured/disaggregated_rows.h"
#include "planner/measured/simulated_rows.h"

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

bool holds(const ValidateReport& r, std::size_t i) { return r.priced[i].legal && r.priced[i].holds; }
bool lacks(const ValidateReport& r, std::size_t i) { return r.priced[i].legal && !r.priced[i].holds; }

void judge_by_loop(ValidateReport& r, const ValidateOptions& options) {
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
}

// A simulation of a guessed protocol is not scored where others are known.
bool scored(const ValidateReport& r, std::size_t i) { return !r.splits_protocols || protocol_is_known(r.rows[i]); }

std::shared_ptr<const EngineTimesTable> times_of(const ValidateOptions& options) {
  return options.times == nullptr ? nullptr : std::make_shared<const EngineTimesTable>(*options.times);
}

// What a row's own benchmark gives takes the place of the closed form.
void judge_by_simulation(ValidateReport& r, const CsvTable& table, const ValidateOptions& options) {
  const auto known = std::count_if(r.rows.begin(), r.rows.end(), protocol_is_known);
  r.splits_protocols = known > 0 && known < static_cast<std::int64_t>(r.rows.size());
  r.analytic = errors_of(r.rows, r.judged, [&](std::size_t i) { return scored(r, i) && holds(r, i); });
  r.analytic_apart = errors_of(r.rows, r.judged, [&](std::size_t i) { return scored(r, i) && lacks(r, i); });
  const std::vector<SimulatedRow> simulated = simulate_rows(r.rows, table, times_of(options));
  r.by_simulation = true;
  for (std::size_t i = 0; i < r.rows.size(); ++i) {
    if (!simulated[i].simulated || !r.priced[i].legal) continue;
    r.judged[i].predicted = simulated[i].of;
    ++r.simulated;
  }
}

// Two pools have no closed form: simulated whatever the method.
void judge_disaggregated(ValidateReport& r, const CsvTable& table, const ValidateOptions& options) {
  const std::vector<DisaggregatedRow> rows = read_disaggregated_rows(table);
  const std::vector<SimulatedRow> simulated = simulate_disaggregated(rows, table, times_of(options));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    r.rows.push_back(rows[i].decode);
    PricedRow priced;
    priced.legal = simulated[i].simulated;
    if (!priced.legal) priced.refusal = "illegal, or a pool holds no request";
    r.priced.push_back(std::move(priced));
    r.judged.push_back({.predicted = simulated[i].of});
    if (simulated[i].simulated) ++r.simulated;
  }
  r.by_simulation = true;
  r.left_out = static_cast<std::int64_t>(table.rows().size() - rows.size());
  r.legal = r.predicted = r.simulated;
}

void summarise(ValidateReport& r, std::size_t worst) {
  const auto has_peer = [&](std::size_t i) { return r.priced[i].legal && r.rows[i].peer.tpot.has_value(); };
  const auto any = [&](std::size_t i) { return r.priced[i].legal; };
  r.overall = errors_of(r.rows, r.judged, [&](std::size_t i) { return scored(r, i) && holds(r, i); });
  r.apart = errors_of(r.rows, r.judged, [&](std::size_t i) { return scored(r, i) && lacks(r, i); });
  if (r.splits_protocols) {
    r.guessed = errors_of(r.rows, r.judged, [&](std::size_t i) { return !scored(r, i) && holds(r, i); });
    r.guessed_apart = errors_of(r.rows, r.judged, [&](std::size_t i) { return !scored(r, i) && lacks(r, i); });
    r.apart_count = r.apart.tpot.count;
  }
  r.peer = peer_errors(r.rows, has_peer);
  r.ours_beside_peer = errors_of(r.rows, r.judged, has_peer);
  r.groups = group_errors(r.rows, r.priced, r.judged, [&](std::size_t i) { return !lacks(r, i); });
  r.rank = rank_quality(r.rows, r.judged, any);
  r.careful_rank = rank_quality(r.rows, r.judged, any, deviations_of(kCarefulPick));
  r.peer_rank = rank_quality(r.rows, peer_judged(r.rows), has_peer);
  for (std::size_t i = 0; i < r.rows.size(); ++i) {
    if (holds(r, i)) r.worst.push_back(i);
  }
  std::stable_sort(r.worst.begin(), r.worst.end(),
                   [&](std::size_t a, std::size_t b) { return tpot_error(r, a) > tpot_error(r, b); });
  if (r.worst.size() > worst) r.worst.resize(worst);
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

namespace {

// "A, B": those that are there.
std::string qualities_of(const std::vector<ServingRow>& rows) {
  std::set<std::string> names;
  for (const ServingRow& row : rows) names.insert(row.quality);
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

ValidateReport validate_serving(const CsvTable& table, const ValidateOptions& options) {
  ValidateReport r;
  r.file = table.file();
  if (is_disaggregated(table)) {
    judge_disaggregated(r, table, options);
  } else {
    const std::vector<ServingRow> all = read_serving_rows(table);
    r.rows = rows_of_quality(all, options.qualities);
    r.left_out = static_cast<std::int64_t>(all.size() - r.rows.size());
    if (r.rows.empty())
      throw InputError(table.file(), fmt::format("has no row of quality {}", options.qualities), qualities_of(all));
    r.priced = price_rows(r.rows, table);
    judge_by_loop(r, options);
    if (options.folds)
      r.folds = fold_lines(r.rows, r.priced, options.times != nullptr ? *options.times : shipped_engine_times());
    if (options.simulate) judge_by_simulation(r, table, options);
  }
  summarise(r, options.worst);
  return r;
}

}  // namespace shardplan
