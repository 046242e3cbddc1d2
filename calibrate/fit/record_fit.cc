#include "calibrate/fit/record_fit.h"

#include <algorithm>
#include <map>

#include "base/errors.h"
#include "calibrate/fit/profile_rows.h"
#include "calibrate/run/node_case.h"
#include "costmodel/work.h"

namespace shardplan {
namespace {

double judged(const FitOutcome& fit) { return fit.model.fit.held_out_mean; }

bool is_sampling(const Record& record) { return record.kind == family_name(KernelFamily::kSampling); }

// The records with sampling as it is asked for, under the operation's own name.
std::vector<Record> of_sampler(std::vector<Record> records, SamplerChoice sampler) {
  const bool drawn = sampler == SamplerChoice::kTopP;
  std::erase_if(records, [&](const Record& r) { return is_sampling(r) && (r.op == kDrawnSampling) != drawn; });
  for (Record& record : records) {
    if (record.op == kDrawnSampling) record.op = op_name(OpKind::kSample);
  }
  return records;
}

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

RecordFit fit_records(const RecordFile& measured, const std::string& name, SamplerChoice sampler) {
  RecordFile file = measured;
  file.records = of_sampler(best_of_rounds(measured.records), sampler);
  if (sampler == SamplerChoice::kTopP && std::none_of(file.records.begin(), file.records.end(), is_sampling))
    throw InputError(file.path.empty() ? "records" : file.path, "no draw from the likeliest tokens is among the records", "what calibrate run writes for a model's last layers");
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
  const auto samples = [](const auto& entry) { return entry.first.starts_with(family_name(KernelFamily::kSampling)); };
  if (sampler == SamplerChoice::kTopP && std::none_of(by_key.begin(), by_key.end(), samples))
    throw InputError(file.path.empty() ? "records" : file.path, "too few draws from the likeliest tokens are among the records for a row of sampling",
                     "4 shapes or more");
  for (const auto& [key, candidates] : by_key) fit.fits.push_back(best_of(candidates));
  fit.document = with_rows(document, name, fit.fits);
  return fit;
}

}  // namespace shardplan
