#include "tools/commands/calibrate/fit_tables.h"

#include <fmt/format.h>

#include <filesystem>
#include <optional>

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
    text += fmt::format("refused: {} of {}: {} usable sample{} too few\n", fit.key, fit.model.fit.on, fit.model.fit.points, fit.model.fit.points == 1 ? " is" : "s are");
    note(fit);
  }
  return dropped.empty() ? text : text + "\nleft out\n" + dropped;
}

std::string device_text(const HardwareProfile& machine) {
  return fmt::format("{} ({}, {} multiprocessors)", machine.device.name, machine.device.architecture, machine.device.sm_count);
}

bool is_alike(const HardwareProfile& a, const HardwareProfile& b) {
  return a.device.architecture == b.device.architecture && a.device.sm_count == b.device.sm_count;
}

// The document that the rows go into: the file's, which must be of such a device, or a new one that extends the machine.
std::string document_for(const std::string& path, const HardwareProfile& machine) {
  if (!std::filesystem::exists(path)) {
    return fmt::format("{{\"schema\": \"hardware-1\", \"extends\": \"{}\", \"name\": \"{}\"}}", machine.name, std::filesystem::path(path).stem().string());
  }
  std::string document = read_file(path, kMaxJsonBytes);
  const HardwareProfile there = read_hardware(document, path);
  if (!is_alike(there, machine)) throw InputError(path, "is of " + device_text(there), "a document of " + device_text(machine) + ", as --hardware says");
  return document;
}

// The catalog's machine that a table names as its own; nullopt where it names none that is known.
std::optional<HardwareProfile> measured_on(const MeasuredTable& table) {
  if (table.system.empty()) return std::nullopt;
  try {
    return load_hardware(table.system);
  } catch (const InputError&) {
    return std::nullopt;
  }
}

// InputError for a table of another device; a line for one of another board with such a device.
std::string check_machine(const MeasuredTable& table, const HardwareProfile& hardware) {
  const auto own = measured_on(table);
  if (!own || own->device.name == hardware.device.name) return "";
  if (!is_alike(*own, hardware)) throw InputError(table.path, "was measured on " + device_text(*own), "tables of " + device_text(hardware) + ", as --hardware says");
  return fmt::format("{} was measured on {}\n", table.path, own->device.name);
}

}  // namespace

void fit_known_machine(const std::string& hardware, const std::string& tables, const std::string& into) {
  if (hardware.empty()) throw InputError("--hardware", "is missing", "the machine that was measured");
  const std::vector<std::string> paths = split_list(tables);
  if (paths.empty()) throw InputError("--tables", "is missing", "files of measurements");
  const HardwareProfile profile = load_hardware(hardware);
  if (!into.empty()) check_output({.json = false, .file = into});
  std::vector<MeasuredTable> read;
  std::string notes;
  for (const std::string& path : paths) {
    for (MeasuredTable& table : read_measurements(path)) {
      notes += check_machine(table, profile);
      read.push_back(std::move(table));
    }
  }
  const TableFits fits = fit_tables(merged_alike(std::move(read)), profile);
  if (!into.empty()) write_file_atomically(into, with_rows(document_for(into, profile), into, fits.fits));
  write_standard_output(notes + fits_table(fits));
}

}  // namespace shardplan
