#include "tools/commands/calibrate/fit_records.h"

#include <fmt/format.h>

#include "base/errors.h"
#include "base/file.h"
#include "base/table.h"
#include "calibrate/fit/record_fit.h"
#include "hwprofiles/profile.h"
#include "tools/cli/output.h"
#include "tools/cli/standard_output.h"

namespace shardplan {
namespace {

using Align = Table::Align;

std::string percent(double ratio) { return fmt::format("{:.1f} %", ratio * 100); }

std::string fit_table(const RecordFit& fit) {
  Table table({{"row", Align::kLeft}, {"form", Align::kLeft}, {"fixed us"}, {"points"}, {"held out"}, {"mean"}, {"median"}, {"p90"}});
  for (const FitOutcome& row : fit.fits) {
    const std::string form = row.roofline ? "roofline" : row.collectives.empty() ? std::string(form_name(row.model.form)) : "collective";
    const bool judged = row.held_out > 0;
    table.add_row({row.key, form, fmt::format("{:.2f}", row.model.parameters[0]), std::to_string(row.model.fit.points), std::to_string(row.held_out),
                   judged ? percent(row.model.fit.held_out_mean) : "-", judged ? percent(row.model.fit.held_out_median) : "-",
                   judged ? percent(row.held_out_p90) : "-"});
  }
  return fmt::format("Peak {:.4g} GFLOP/s, memory {:.4g} GB/s, between ranks {:.4g} GB/s: the best of the records.\n", fit.rates.peak_flops_per_us * 1e-3,
                     fit.rates.bandwidth_bytes_per_us * 1e-3, fit.rates.link_bytes_per_us * 1e-3) +
         table.text();
}

}  // namespace

void fit_new_machine(const std::string& records, const std::string& output, const std::string& name, const std::string& sampler) {
  if (sampler != "greedy" && sampler != "top_p") throw InputError("--sampler", "\"" + sampler + "\" is not known", "greedy or top_p");
  if (output.empty()) throw InputError("--output", "is missing", "a file name");
  check_output({.file = output});
  const RecordFile file = read_records(records);
  const RecordFit fit = fit_records(file, name, sampler == "top_p" ? SamplerChoice::kTopP : SamplerChoice::kGreedy);
  static_cast<void>(read_hardware(fit.document, output));   // what is written can be read
  write_file_atomically(output, fit.document);
  write_standard_output(fit_table(fit));
}

}  // namespace shardplan
