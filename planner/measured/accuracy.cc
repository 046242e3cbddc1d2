#include "planner/measured/accuracy.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/natural_order.h"

namespace shardplan {
namespace {

void add(std::vector<ErrorPair>& to, double predicted, const std::optional<double>& measured, double spread) {
  if (!measured || predicted <= 0) return;
  const double wide = std::exp(kP90 * spread);
  to.push_back({predicted, *measured, 1 / wide, wide});
}

std::string base_name(const std::string& model) { return model.substr(model.find_last_of('/') + 1); }

}  // namespace

QuantityErrors errors_of(const std::vector<ServingRow>& rows, const std::vector<Judged>& judged,
                         const RowFilter& counts) {
  std::vector<ErrorPair> ttft, tpot, throughput;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!counts(i)) continue;
    add(ttft, judged[i].predicted.ttft, rows[i].measured.ttft, judged[i].spread.ttft);
    add(tpot, judged[i].predicted.tpot, rows[i].measured.tpot, judged[i].spread.tpot);
    add(throughput, judged[i].predicted.throughput, rows[i].measured.throughput, judged[i].spread.throughput);
  }
  return {stats_of(ttft), stats_of(tpot), stats_of(throughput)};
}

QuantityErrors peer_errors(const std::vector<ServingRow>& rows, const RowFilter& counts) {
  std::vector<Judged> judged(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Observed& p = rows[i].peer;
    judged[i].predicted = {
        .tpot = p.tpot.value_or(0), .ttft = p.ttft.value_or(0), .throughput = p.throughput.value_or(0)};
  }
  return errors_of(rows, judged, counts);
}

std::string kernel_group(const ServingRow& row) {
  return fmt::format("{}, {}, {}, {}", base_name(row.model), row.hardware, row.engine, row.precision);
}

const std::vector<RowGrouping>& row_groupings() {
  static const std::vector<RowGrouping> table{
      {"engine", [](const ServingRow& r) { return r.engine; }},
      {"engine_version", [](const ServingRow& r) { return r.engine + " " + (r.version.empty() ? "?" : r.version); }},
      {"hardware", [](const ServingRow& r) { return r.hardware; }},
      {"model", [](const ServingRow& r) { return base_name(r.model); }},
      {"precision", [](const ServingRow& r) { return r.precision; }},
      {"group", kernel_group},
      {"tp", [](const ServingRow& r) { return fmt::format("{}", r.tp); }},
      {"concurrency", [](const ServingRow& r) { return fmt::format("{}", r.concurrency); }},
      {"isl_osl", [](const ServingRow& r) { return fmt::format("{}/{}", r.isl, r.osl); }},
      {"quality", [](const ServingRow& r) { return r.quality; }},
  };
  return table;
}

std::vector<GroupErrors> group_errors(const std::vector<ServingRow>& rows, const std::vector<PricedRow>& priced,
                                      const std::vector<Judged>& judged, const RowFilter& counts) {
  std::vector<GroupErrors> out;
  for (const RowGrouping& grouping : row_groupings()) {
    std::map<std::string, std::vector<std::size_t>> members;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (counts(i)) members[grouping.name(rows[i])].push_back(i);
    }
    std::vector<GroupErrors> group;
    for (const auto& [name, of] : members) {
      GroupErrors g{grouping.by, name, static_cast<std::int64_t>(of.size()), 0, {}, {}};
      for (const std::size_t i : of) g.predicted += priced[i].legal ? 1 : 0;
      const RowFilter in = [&](std::size_t i) {
        return counts(i) && priced[i].legal && grouping.name(rows[i]) == name;
      };
      g.errors = errors_of(rows, judged, in);
      g.peer = peer_errors(rows, in);
      group.push_back(std::move(g));
    }
    std::stable_sort(group.begin(), group.end(),
                     [](const GroupErrors& a, const GroupErrors& b) { return natural_less(a.name, b.name); });
    out.insert(out.end(), group.begin(), group.end());
  }
  return out;
}

// A target that half of the group's points keep; the pick is the one of most predicted throughput among those predicted
// to keep it.
RankQuality rank_quality(const std::vector<ServingRow>& rows, const std::vector<Judged>& judged,
                         const RowFilter& counts, double deviations) {
  std::map<std::string, std::vector<std::size_t>> groups;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const ServingRow& r = rows[i];
    if (!counts(i) || !r.measured.tpot || !r.measured.throughput) continue;
    groups[fmt::format("{} {}/{}", kernel_group(r), r.isl, r.osl)].push_back(i);
  }
  RankQuality out;
  double ratio = 0;
  for (const auto& [name, of] : groups) {
    if (of.size() < 3) continue;
    std::vector<double> tpots;
    for (const std::size_t i : of) tpots.push_back(*rows[i].measured.tpot);
    const auto middle = tpots.begin() + std::ssize(tpots) / 2;  // a target that a row keeps just so
    std::nth_element(tpots.begin(), middle, tpots.end());
    const double target = *middle;
    double best = 0, picked = 0;
    const std::size_t* pick = nullptr;
    for (const std::size_t& i : of) {
      if (*rows[i].measured.tpot <= target) best = std::max(best, *rows[i].measured.throughput);
      if (judged[i].predicted.tpot * std::exp(deviations * judged[i].spread.tpot) > target || judged[i].predicted.throughput <= picked) continue;
      picked = judged[i].predicted.throughput;
      pick = &i;
    }
    ++out.groups;
    if (pick == nullptr || *rows[*pick].measured.tpot > target) continue;
    ++out.held;
    ratio += *rows[*pick].measured.throughput / best;
  }
  if (out.held > 0) out.throughput_ratio = ratio / static_cast<double>(out.held);
  return out;
}

}  // namespace shardplan
