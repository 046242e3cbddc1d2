#include "tools/commands/calibrate/fit_serving.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/errors.h"
#include "base/file.h"
#include "base/table.h"
#include "planner/measured/fit.h"
#include "planner/measured/measured_file.h"
#include "planner/measured/report.h"
#include "planner/measured/simulated_rows.h"
#include "planner/measured/static_batches.h"
#include "tools/cli/flag_builders.h"
#include "tools/cli/standard_output.h"
#include "tools/request/engine_times_file.h"
#include "tools/tables/numbers.h"

namespace shardplan {
namespace {

constexpr double kLeastSimulatedStep = 0.004;  // a simulated mean is no finer

constexpr const char* kHelp =
    "Engine times from measured serving points (TPOT and TTFT of whole deployments). A few points of your own become "
    "an\n"
    "overlay: how much slower this deployment's decode steps, prompts and queue are than the shipped times say, and "
    "how sure\n"
    "that is; estimate, plan and simulate take it with --overlay. With --shipped, every level of the shipped document "
    "is\n"
    "fitted anew, rows of a known protocol by simulation of their benchmark. The table has the columns of shardplan "
    "validate. Of static batches it fits the times of an engine that launches every kernel from the host.";

struct FitFlags {
  std::string serving, quality, times, output;
  bool shipped = false;
  bool closed_form = false;
};

// What the rows say, for people.
std::string rows_text(const EngineTimesTable& table) {
  Table out({{"term", Table::Align::kLeft}, {"of", Table::Align::kLeft}, {"ratio"}, {"p10"}, {"p90"}});
  for (const TimesRow& row : table.rows) {
    std::string of;
    for (const std::string& value : row.of) of += value.empty() ? "" : (of.empty() ? "" : ", ") + value;
    const double wide = std::exp(kP90 * row.spread);
    out.add_row({name_of(table.levels[row.level].term), of, fmt::format("{:.3f}", row.value),
                 fmt::format("{:.3f}", row.value / wide), fmt::format("{:.3f}", row.value * wide)});
  }
  return out.text(2);
}

// Which rows were not used, and why.
std::string left_out_text(const std::vector<PricedRow>& priced) {
  std::string text;
  const auto crowded =
      std::count_if(priced.begin(), priced.end(), [](const PricedRow& row) { return row.legal && !row.holds; });
  if (crowded > 0) text += fmt::format("  {} left out: the cache cannot hold the concurrency\n", crowded);
  for (const auto& [why, count] : refusals_of(priced)) text += fmt::format("  {} left out: {}\n", count, why);
  return text;
}

// Times of an engine that launches every kernel from the host.
void fit_batches(const FitFlags& flags, const CsvTable& table) {
  const StaticBatches batches = read_static_batches(table);
  std::vector<std::size_t> use;
  for (std::size_t i = 0; i < batches.rows.size(); ++i) {
    if (batches.priced[i].legal && batches.priced[i].holds) use.push_back(i);
  }
  if (use.empty())
    throw InputError(flags.serving, "holds no batch that is legal and fits in the cache",
                     "rows that shardplan validate predicts");
  const EngineTimesTable fitted = fit_early_engine(batches, use, engine_times_of(flags.times));
  const std::string on =
      fmt::format("{} static batches of {}", use.size(), std::filesystem::path(flags.serving).filename().string());
  const std::string text = engine_times_text(fitted, on);
  if (flags.output.empty()) return write_standard_output(text);
  write_file_atomically(flags.output, text);
  write_standard_output(fmt::format("fitted on {}\n", on) + rows_text(fitted));
}

void fit(const FitFlags& flags) {
  const MeasuredFile file = read_measured(flags.serving);
  if (file.kind == MeasuredKind::kKernels || file.kind == MeasuredKind::kPublished) {
    throw InputError(flags.serving, "holds neither serving points nor static batches",
                     "a table that shardplan validate judges as such (kernel tables: calibrate fit --tables)");
  }
  const CsvTable table = file.table();
  if (file.kind == MeasuredKind::kStaticBatches) return fit_batches(flags, table);
  const std::vector<ServingRow> rows = rows_of_quality(read_serving_rows(table), flags.quality);
  const std::vector<PricedRow> priced = price_rows(rows, table);
  FitPoints points{rows, priced, {}};
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (priced[i].legal && priced[i].holds) points.use.push_back(i);
  }
  if (points.use.empty()) {
    const auto refusals = refusals_of(priced);
    throw InputError(flags.serving,
                     refusals.empty() ? "holds no row to fit: no cache holds the concurrency"
                                      : "holds no row to fit: " + refusals.begin()->first,
                     "rows that shardplan validate predicts");
  }
  const EngineTimesTable basis = engine_times_of(flags.times);
  FitOptions options;
  if (flags.shipped && !flags.closed_form) {
    options.predict = simulated_predictor(rows, table, points.use);
    options.least_log_step = kLeastSimulatedStep;
  }
  const EngineTimesTable fitted = flags.shipped ? fit_all(points, basis, options) : fit_overlay(points, basis);
  const std::string on = fmt::format("{} of {}", counted(std::ssize(points.use), "serving point"),
                                     std::filesystem::path(flags.serving).filename().string());
  const std::string text = engine_times_text(fitted, on);
  if (flags.output.empty()) return write_standard_output(text);
  write_file_atomically(flags.output, text);
  write_standard_output(fmt::format("fitted on {}\n", on) + left_out_text(priced) + rows_text(fitted));
}

}  // namespace

void run_calibrate_fit_serving(const Words& words) {
  FitFlags flags;
  CommandLine line{
      "shardplan calibrate fit", kHelp, "shardplan calibrate fit --serving mine.csv --output overlay.json", {}, {}};
  line.groups.push_back(
      {"Fit",
       {text_flag("--serving", "FILE", "a CSV of measured serving points", flags.serving),
        text_flag("--quality", "LIST", "rows of these qualities, as \"A,B\" (all)", flags.quality),
        text_flag("--engine-times", "FILE", "engine times to start from (the shipped ones)", flags.times),
        switch_flag("--shipped", "fit every level of the document instead of an overlay", flags.shipped),
        switch_flag("--closed-form", "with --shipped: no row by simulation of its benchmark", flags.closed_form),
        text_flag("--output", "FILE", "where the document goes (standard output)", flags.output)}});
  if (!parse_command_line(line, words)) return;
  if (flags.serving.empty()) throw InputError("--serving", "is missing", "a CSV file of measured points");
  fit(flags);
}

}  // namespace shardplan
