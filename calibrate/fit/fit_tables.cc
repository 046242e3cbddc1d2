#include "calibrate/fit/fit_tables.h"

#include <algorithm>
#include <map>

#include "base/natural_order.h"
#include "calibrate/fit/kernel_samples.h"

namespace shardplan {
namespace {

constexpr std::size_t kLeast = 20;   // samples

// Experts whose floor is over twice that of the machine's quickest format were timed from the host, launch by launch.
void split_host_floors(std::vector<FitOutcome>& fits, const HardwareProfile& hardware) {
  constexpr std::size_t kT0 = 0;
  const std::size_t host = form_parameters(KernelForm::kGroupedGemm).size() - 1;
  double least = 1e300;
  const auto look = [&](const KernelModel& model) {
    if (model.form == KernelForm::kGroupedGemm) least = std::min(least, model.parameters[kT0]);
  };
  for (const auto& [key, model] : hardware.kernel_models) look(model);
  for (const FitOutcome& fit : fits) {
    if (fit.collectives.empty()) look(fit.model);
  }
  for (FitOutcome& fit : fits) {
    std::vector<double>& p = fit.model.parameters;
    if (!fit.collectives.empty() || fit.model.form != KernelForm::kGroupedGemm || p[kT0] <= 2 * least) continue;
    p[host] += p[kT0] - least;
    p[kT0] = least;
  }
}

}  // namespace

std::vector<FitInput> table_inputs(const MeasuredTable& table, const HardwareProfile& hardware) {
  if (table.family == "gemm") return gemm_inputs(table, hardware);
  if (table.family == "attention") return attention_inputs(table, hardware);
  if (table.family == "mla") return mla_inputs(table, hardware);
  if (table.family == "moe") return experts_inputs(table, hardware);
  if (table.table.find("deepep") != std::string::npos) return exchange_inputs(table, hardware, false);
  if (table.family == "comm") return collective_inputs(table, hardware);
  if (table.family == "sampling") return sampling_inputs(table, hardware);
  return {};
}

namespace {

// One library's samples of one row.
struct Candidate {
  FitInput input;
  std::string backend, version;
};

// Libraries by preference where they have as many samples.
std::size_t place_of(const std::string& backend) {
  constexpr const char* kOrder[] = {"records", "nccl-tests", "vllm", "nccl", "trtllm", "sglang"};
  const auto* const at = std::find_if(std::begin(kOrder), std::end(kOrder), [&](const char* name) { return backend == name; });
  return static_cast<std::size_t>(at - std::begin(kOrder));
}

// Takes the place of an older release of its library, or gives way to a newer one.
void offer(std::vector<Candidate>& to, Candidate candidate) {
  for (Candidate& own : to) {
    if (own.backend != candidate.backend) continue;
    if (natural_less(own.version, candidate.version)) own = std::move(candidate);
    return;
  }
  to.push_back(std::move(candidate));
}

}  // namespace

TableFits fit_tables(const std::vector<MeasuredTable>& tables, const HardwareProfile& hardware) {
  TableFits out;
  std::map<std::string, std::vector<Candidate>> rows;
  for (const MeasuredTable& table : tables) {
    for (FitInput& input : table_inputs(table, hardware)) {
      if (input.microseconds.size() < std::min(kLeast, input.least_samples)) {
        FitOutcome refused{.key = input.key, .collectives = {}, .model = {}, .dropped = input.dropped};
        refused.model.fit.on = input.on;
        refused.model.fit.points = std::ssize(input.microseconds);
        out.refused.push_back(std::move(refused));
        continue;
      }
      const std::string key = input.key;
      offer(rows[key], {std::move(input), table.backend, table.version});
    }
  }
  for (auto& [key, candidates] : rows) {
    std::stable_sort(candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) {
      if (a.input.microseconds.size() != b.input.microseconds.size()) return a.input.microseconds.size() > b.input.microseconds.size();
      return place_of(a.backend) < place_of(b.backend);
    });
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      if (i > 0) candidates[i].input.key += "@" + candidates[i].backend;
      out.fits.push_back(fit_kernel(candidates[i].input));
    }
  }
  split_host_floors(out.fits, hardware);
  std::sort(out.fits.begin(), out.fits.end(), [](const FitOutcome& a, const FitOutcome& b) { return a.key < b.key; });
  return out;
}

}  // namespace shardplan
