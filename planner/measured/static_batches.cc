#include "planner/measured/static_batches.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "base/errors.h"
#include "planner/engine_times/early.h"
#include "planner/measured/serving_points.h"

namespace shardplan {
namespace {

constexpr const char* kEngine = "early";
constexpr double kMostMilliseconds = 1e8;
constexpr std::int64_t kMostCount = 1LL << 30;
constexpr std::int64_t kMostOutput = 1024;  // such runs end on their own long before the lengths that were asked for

enum Grouping : std::size_t { kDevice, kModel, kWidths, kBatch, kPrompt };
constexpr const char* kGroupings[] = {"device", "model", "tp", "batch", "prompt"};
static_assert(std::size(kGroupings) == kPrompt + 1);

std::int64_t count(const CsvTable& table, const CsvRow& row, const char* column) {
  const double value = table.number(row, column, 1, static_cast<double>(kMostCount));
  if (value != std::floor(value))
    throw InputError(table.where(row, column), fmt::format("{:g} is no whole number", value), "a count");
  return static_cast<std::int64_t>(value);
}

double milliseconds(const CsvTable& table, const CsvRow& row, const char* median, const char* single) {
  return table.number(row, table.has(median) ? median : single, 1e-6, kMostMilliseconds);
}

ServingRow row_of(const CsvTable& table, const CsvRow& row) {
  ServingRow out;
  out.line = row.line;
  out.model = row.cells[table.require("model")];
  out.hardware = row.cells[table.require("hardware")];
  out.engine = kEngine;
  out.precision = "bf16";
  out.tp = out.gpus = count(table, row, "tensor_parallel");
  out.isl = count(table, row, "prompt_size");
  out.osl = std::min(count(table, row, "token_size"), kMostOutput);
  out.concurrency = count(table, row, "batch_size");
  out.measured.ttft = 1e-3 * milliseconds(table, row, "prompt_ms_median", "prompt_time_ms");
  out.measured.tpot = 1e-3 * milliseconds(table, row, "token_ms_median", "token_time_ms");
  return out;
}

// Terms that such an engine has of its own, and how far they may lie from others'. Hosts of a generation of machines
// share their processors.
struct EarlyTerm {
  TimeTerm term;
  bool by_architecture;
  double spread;
  const char* mechanism;
};

constexpr EarlyTerm kTerms[] = {
    {TimeTerm::kStep, false, 2.0, "a step's work on the host, which nothing overlaps"},
    {TimeTerm::kStep, true, 0.5, "the host's processors"},
    {TimeTerm::kSequence, false, 2.0, "sampling and block tables in Python, one sequence after another"},
    {TimeTerm::kPrefillLaunch, false, 1.0, "launches of a layer outside a captured graph, decode steps included"},
    {TimeTerm::kPrefillLaunch, true, 0.5, "the host's processors"},
    {TimeTerm::kCollective, false, 0.6, "a library's all-reduce, launched kernel by kernel"},
    {TimeTerm::kAttentionPrefill, false, 0.6, "an older attention kernel"},
    {TimeTerm::kPrefillElementwise, false, 0.6, "passes over activations that are not fused"},
};

// `base` without its spreads for the engine: levels that have rows of the engine early, to be fitted.
EngineTimesTable with_early_levels(EngineTimesTable base, std::vector<std::size_t>& levels) {
  for (const EarlyTerm& t : kTerms) {
    TimesLevel level{t.term, {}, t.spread, t.mechanism};
    level.by[0] = true;
    level.by[2] = t.by_architecture;
    auto same = std::find_if(base.levels.begin(), base.levels.end(),
                             [&](const TimesLevel& l) { return l.term == level.term && l.by == level.by; });
    levels.push_back(static_cast<std::size_t>(same - base.levels.begin()));
    if (same == base.levels.end())
      base.levels.push_back(level);
    else
      *same = level;
  }
  return base;
}

std::vector<std::size_t> all_of(const StaticBatches& batches) {
  std::vector<std::size_t> use;
  for (std::size_t i = 0; i < batches.rows.size(); ++i) {
    if (batches.priced[i].legal) use.push_back(i);
  }
  return use;
}

// The times that a row is predicted with.
using TimesOfRow = std::function<const EngineTimesTable&(std::size_t)>;

std::vector<ErrorPair> pairs_of(const StaticBatches& b, const TimesOfRow& times, SteadyQuantity quantity) {
  std::vector<ErrorPair> pairs;
  for (std::size_t i = 0; i < b.rows.size(); ++i) {
    if (!b.priced[i].legal) continue;
    MeasuredPoint p;
    predict_point(b.priced[i], times(i), quantity, p);
    pairs.push_back({p.predicted, *measured_of(b.rows[i].measured, quantity), p.p10, p.p90});
  }
  return pairs;
}

std::string error_text(const char* what, const StaticBatches& b, const TimesOfRow& times) {
  const ErrorStats step = stats_of(pairs_of(b, times, SteadyQuantity::kTpot));
  const ErrorStats prompt = stats_of(pairs_of(b, times, SteadyQuantity::kTtft));
  return fmt::format("{}: decode step {:.1f} / {:.1f} %, prompts {:.1f} / {:.1f} % (mean / median of {} rows)", what,
                     100 * step.mean_ape, 100 * step.median_ape, 100 * prompt.mean_ape, 100 * prompt.median_ape,
                     step.count);
}

// Fits that have not seen the rows they are judged by: every second row; one model, one machine, one width at a time.
void add_folds(const StaticBatches& b, const EngineTimesTable& base, PointReport& report) {
  struct Fold {
    const char* name;
    std::string (*of)(const ServingRow&);
  };
  static const Fold kFolds[] = {
      {"Fitted on every second row, the other rows", [](const ServingRow& r) { return fmt::format("{}", r.line % 2); }},
      {"One model left out", [](const ServingRow& r) { return r.model; }},
      {"One machine left out", [](const ServingRow& r) { return r.hardware; }},
      {"One width left out", [](const ServingRow& r) { return fmt::format("{}", r.tp); }},
  };
  for (const Fold& fold : kFolds) {
    std::map<std::string, EngineTimesTable> without;
    for (const ServingRow& row : b.rows) {
      const std::string name = fold.of(row);
      if (without.contains(name)) continue;
      std::vector<std::size_t> use = all_of(b);
      std::erase_if(use, [&](std::size_t i) { return fold.of(b.rows[i]) == name; });
      if (!use.empty()) without[name] = with_overlay(base, fit_early_engine(b, use, base));
    }
    if (without.size() < 2) continue;
    report.notes.push_back(error_text(
        fold.name, b, [&](std::size_t i) -> const EngineTimesTable& { return without.at(fold.of(b.rows[i])); }));
  }
}

void add_point(const StaticBatches& b, std::size_t i, SteadyQuantity quantity, const EngineTimesTable& times,
               PointReport& report) {
  const ServingRow& row = b.rows[i];
  MeasuredPoint p{.line = static_cast<std::int32_t>(row.line),
                  .quantity = static_cast<std::uint16_t>(quantity),
                  .measured = *measured_of(row.measured, quantity)};
  const std::string unit = report.quantities[p.quantity].name + ", ";
  const auto set = [&](Grouping g, const std::string& name) { p.groups[g] = group_index(report, g, unit + name); };
  set(kDevice, row.hardware);
  set(kModel, row.model);
  set(kWidths, fmt::format("tp{}", row.tp));
  set(kBatch, fmt::format("{} sequences", row.concurrency));
  set(kPrompt, fmt::format("{} prompt tokens", row.isl));
  if (b.priced[i].legal) {
    predict_point(b.priced[i], times, quantity, p);
    p.apart = !b.priced[i].holds;
    if (!p.apart)
      report.worst.push_back({report.points.size(),
                              fmt::format("{}{} on {} tp{}, {} x {} tokens", unit, row.model, row.hardware, row.tp,
                                          row.concurrency, row.isl),
                              steady_breakdown(b.priced[i], times)});
  } else {
    ++report.not_predicted[b.priced[i].refusal];
  }
  report.points.push_back(p);
}

}  // namespace

StaticBatches read_static_batches(const CsvTable& table) {
  StaticBatches out;
  for (const CsvRow& row : table.rows()) out.rows.push_back(row_of(table, row));
  if (out.rows.empty()) throw InputError(table.file(), "holds no rows", "measured batches below the header");
  RowPricer pricer;
  for (const ServingRow& row : out.rows) {
    RowQuestion question = question_of(row, table);
    out.priced.push_back(pricer.price_batch(question));
    out.priced.back().key.engine = kEngine;
    out.priced.back().key.version.clear();
  }
  return out;
}

EngineTimesTable early_engine_times(const EngineTimesTable& base) { return with_overlay(base, early_engine_overlay()); }

EngineTimesTable fit_early_engine(const StaticBatches& batches, const std::vector<std::size_t>& use,
                                  const EngineTimesTable& base) {
  std::vector<std::size_t> levels;
  EngineTimesTable start = with_early_levels(base, levels);
  std::erase_if(start.rows, [](const TimesRow& row) { return row.of[0] == kEngine; });
  const EngineTimesTable kept = start;
  FitOptions options;
  options.group_points = 60;
  options.ttft_deviation = 0.15;
  EngineTimesTable fitted = fit_engine_times({batches.rows, batches.priced, use}, start, levels, options);
  EngineTimesTable overlay;
  overlay.is_overlay = true;
  std::sort(levels.begin(), levels.end());
  for (const std::size_t level : levels) {
    for (TimesRow row : fitted.rows) {
      if (row.level != level || row.of[0] != kEngine) continue;
      row.level = overlay.levels.size();
      overlay.rows.push_back(row);
    }
    overlay.levels.push_back(kept.levels[level]);
  }
  return overlay;
}

PointReport validate_static_batches(const CsvTable& table, const EngineTimesTable& base, bool folds,
                                    std::size_t worst) {
  const StaticBatches batches = read_static_batches(table);
  PointReport report;
  report.kind = "static batches";
  report.apart_name = "cache cannot hold the batch";
  report.files = {table.file()};
  report.quantities = {{"decode step", "ms"}, {"prompts", "ms"}};  // a batch's TPOT and TTFT, in that order
  for (const char* by : kGroupings) report.groupings.push_back({by});
  const EngineTimesTable times = early_engine_times(base);
  for (std::size_t i = 0; i < batches.rows.size(); ++i) {
    add_point(batches, i, SteadyQuantity::kTpot, times, report);
    add_point(batches, i, SteadyQuantity::kTtft, times, report);
  }
  report.notes.push_back(error_text("Kernels under today's engines' host times", batches,
                                    [&](std::size_t) -> const EngineTimesTable& { return base; }));
  if (folds) add_folds(batches, base, report);
  summarise(report, worst);
  return report;
}

}  // namespace shardplan
