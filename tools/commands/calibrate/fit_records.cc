#include "tools/commands/calibrate/fit_records.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/errors.h"
#include "base/file.h"
#include "base/table.h"
#include "calibrate/records/fit_records.h"
#include "hwprofiles/profile.h"
#include "tools/cli/output.h"
#include "tools/cli/standard_output.h"

namespace shardplan {
namespace {

using Align = Table::Align;

std::string fit_table(const RecordFit& fit) {
  Table table({{"what", Align::kLeft}, {"fixed us"}, {"compute"}, {"memory"}, {"fitted"}, {"left out"}, {"mean error"}});
  const auto quality = [](const FitQuality& q) {
    return std::vector<std::string>{std::to_string(q.fitted), std::to_string(q.held_out), fmt::format("{:.1f} %", q.error_ratio * 100)};
  };
  const auto add = [&](std::vector<std::string> cells, const FitQuality& q) {
    for (std::string& cell : quality(q)) cells.push_back(std::move(cell));
    table.add_row(std::move(cells));
  };
  for (const auto& [family, k] : fit.kernels) {
    add({family, fmt::format("{:.2f}", k.fixed_us), fmt::format("{:.3f}", k.compute_efficiency), fmt::format("{:.3f}", k.memory_efficiency)}, k.quality);
  }
  for (const auto& [kind, c] : fit.collectives) {
    add({kind, fmt::format("{:.2f}+{:.2f}(n-1)", c.base_us, c.per_rank_us), "-", fmt::format("{:.3f}", c.efficiency)}, c.quality);
  }
  return fmt::format("Peak {:.4g} GFLOP/s, memory {:.4g} GB/s, between ranks {:.4g} GB/s: the best of the records.\n", fit.peak_flops_per_us * 1e-3,
                     fit.bandwidth_bytes_per_us * 1e-3, fit.link_bytes_per_us * 1e-3) +
         table.text();
}

}  // namespace

void fit_new_machine(const std::string& records, const std::string& output, const std::string& name) {
  if (output.empty()) throw InputError("--output", "is missing", "a file name");
  check_output({.file = output});
  const RecordFile file = read_records(records);
  const RecordFit fit = fit_records(file);
  std::int64_t ranks = 1;
  for (const Record& record : file.records) ranks = std::max(ranks, record.ranks);
  const std::string document = hardware_of(file, fit, name, ranks);
  static_cast<void>(read_hardware(document, output));   // what is written can be read
  write_file_atomically(output, document);
  write_standard_output(fit_table(fit));
}

}  // namespace shardplan
