#include "calibrate/fit/record_fit.h"

#include <algorithm>
#include <map>

#include "base/errors.h"
#include "calibrate/fit/profile_rows.h"

namespace shardplan {
namespace {

double judged(const FitOutcome& fit) { return fit.model.fit.held_out_mean; }

// Of several forms the one that holds best on shapes that it did not see; a first one that is as good stays.
FitOutcome best_of(const std::vector<const FitInput*>& candidates) {
  FitOutcome best = fit_kernel(*candidates.front());
  for (std::size_t i = 1; i < candidates.size(); ++i) {
    FitOutcome other = fit_kernel(*candidates[i]);
    if (other.held_out > 0 && judged(other) < judged(best)) best = std::move(other);
  }
  return best;
}

}  // namespace

RecordFit fit_records(const RecordFile& measured, const std::string& name) {
  RecordFile file = measured;
  file.records = best_of_rounds(measured.records);
  RecordFit fit;
  fit.rates = machine_rates(file);
  if (fit.rates.peak_flops_per_us <= 0)
    throw InputError(file.path.empty() ? "records" : file.path, "no product is among the records",
                     "what calibrate run writes");
  const std::string document = machine_document(file, fit.rates, name);
  const std::vector<FitInput> inputs = record_inputs(file, read_hardware(document, name));
  std::map<std::string, std::vector<const FitInput*>> by_key;
  for (const FitInput& input : inputs) {
    if (input.microseconds.size() >= input.least_samples) by_key[input.key].push_back(&input);
  }
  for (const auto& [key, candidates] : by_key) fit.fits.push_back(best_of(candidates));
  fit.document = with_rows(document, name, fit.fits);
  return fit;
}

}  // namespace shardplan
