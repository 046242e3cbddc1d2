#include "tools/commands/calibrate/fit_tables.h"

#include <fmt/format.h>

#include <filesystem>

#include "base/errors.h"
#include "base/file.h"
#include "base/json.h"
#include "base/table.h"
#include "calibrate/fit/fit_tables.h"
#include "calibrate/fit/foreign_tables.h"
#include "calibrate/fit/measurement_files.h"
#include "calibrate/fit/profile_rows.h"
#include "tools/cli/output.h"
#include "tools/cli/standard_output.h"
#include "tools/cli/values.h"

namespace shardplan {
namespace {

std::string percent(double ratio) { return fmt::format("{:.1f}", 100 * ratio); }

std::string fits_table(const TableFits& fits) {
  using Align = Table::Align;
  Table table({{"row", Align::kLeft}, {"points"}, {"held out"}, {"mean %"}, {"median %"}, {"p90 %"}, {"bias %"}, {"p10"}, {"p90"}, {"fitted on", Align::kLeft}});
  std::string dropped;
  const auto note = [&](const FitOutcome& fit) {
    for (const auto& [why, count] : fit.dropped) dropped += fmt::format("  {}: {} dropped, {}\n", fit.key, count, why);
  };
  for (const FitOutcome& fit : fits.fits) {
    const bool judged = fit.held_out > 0;
    table.add_row({fit.key, std::to_string(fit.model.fit.points), std::to_string(fit.held_out), judged ? percent(fit.model.fit.held_out_mean) : "-",
                   judged ? percent(fit.model.fit.held_out_median) : "-", judged ? percent(fit.held_out_p90) : "-", percent(fit.bias),
                   fmt::format("{:.2f}", fit.model.spread.p10), fmt::format("{:.2f}", fit.model.spread.p90), fit.model.fit.on});
    note(fit);
  }
  std::string text = table.empty() ? "nothing to fit\n" : table.text();
  for (const FitOutcome& fit : fits.refused) {
    text += fmt::format("refused: {} of {}: {} usable samples are too few\n", fit.key, fit.model.fit.on, fit.model.fit.points);
    note(fit);
  }
  return dropped.empty() ? text : text + "\nleft out\n" + dropped;
}

// The document that the rows go into: the file's, or a new one that extends the machine.
std::string document_for(const std::string& path, const std::string& machine) {
  if (std::filesystem::exists(path)) return read_file(path, kMaxJsonBytes);
  return fmt::format("{{\"schema\": \"hardware-1\", \"extends\": \"{}\", \"name\": \"{}\"}}", machine, std::filesystem::path(path).stem().string());
}

}  // namespace

void fit_known_machine(const std::string& hardware, const std::string& tables, const std::string& into) {
  if (hardware.empty()) throw InputError("--hardware", "is missing", "the machine that was measured");
  const std::vector<std::string> paths = split_list(tables);
  if (paths.empty()) throw InputError("--tables", "is missing", "files of measurements");
  const HardwareProfile profile = load_hardware(hardware);
  if (!into.empty()) check_output({.json = false, .file = into});
  std::vector<MeasuredTable> read;
  for (const std::string& path : paths) {
    for (MeasuredTable& table : read_measurements(path)) read.push_back(std::move(table));
  }
  const TableFits fits = fit_tables(merged_alike(std::move(read)), profile);
  if (!into.empty()) write_file_atomically(into, with_rows(document_for(into, profile.name), into, fits.fits));
  write_standard_output(fits_table(fits));
}

}  // namespace shardplan
