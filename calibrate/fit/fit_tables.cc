#include "calibrate/fit/fit_tables.h"

#include <algorithm>
#include <set>

#include "calibrate/fit/kernel_samples.h"

namespace shardplan {
namespace {

constexpr std::size_t kLeast = 20;   // samples

}  // namespace

std::vector<FitInput> table_inputs(const MeasuredTable& table, const HardwareProfile& hardware) {
  if (table.family == "gemm") return gemm_inputs(table, hardware);
  if (table.family == "attention") return attention_inputs(table, hardware);
  if (table.family == "mla") return mla_inputs(table, hardware);
  if (table.family == "moe") return experts_inputs(table, hardware);
  if (table.family == "comm") return collective_inputs(table, hardware);
  return {};
}

TableFits fit_tables(const std::vector<MeasuredTable>& tables, const HardwareProfile& hardware) {
  TableFits out;
  std::set<std::string> taken;
  for (const MeasuredTable& table : tables) {
    for (FitInput& input : table_inputs(table, hardware)) {
      if (input.microseconds.size() < kLeast) {
        FitOutcome refused{.key = input.key, .collectives = {}, .model = {}, .dropped = input.dropped};
        refused.model.fit.on = input.on;
        out.refused.push_back(std::move(refused));
        continue;
      }
      if (taken.contains(input.key)) input.key += "@" + table.backend;
      if (!taken.insert(input.key).second) continue;
      out.fits.push_back(fit_kernel(input));
    }
  }
  std::sort(out.fits.begin(), out.fits.end(), [](const FitOutcome& a, const FitOutcome& b) { return a.key < b.key; });
  return out;
}

}  // namespace shardplan
