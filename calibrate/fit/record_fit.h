// A profile of a machine that nobody knows yet from its records: rows of kernels and collectives, fitted as those of
// known machines are (kernel_fit.h).
//
// Peak and bandwidths are the best that any record reached. Products take the closed form of tiles where there are
// enough of them and it holds better on held-out shapes than the roofline does; everything else is a roofline:
// attention by the format of its cache, small operations each by its own row ("elementwise.norm", "sampling.sample"). A collective is base
// + per_rank*(n-1) + sent/(bandwidth*efficiency). Wrong where ranks that work at once take memory from one another:
// records of all rank counts are fitted together.
#pragma once

#include <string>
#include <vector>

#include "calibrate/fit/kernel_fit.h"
#include "calibrate/records/record.h"

namespace shardplan {

struct MachineRates {
  double peak_flops_per_us = 0;
  double bandwidth_bytes_per_us = 0;
  double link_bytes_per_us = 0;
};

struct RecordFit {
  MachineRates rates;
  std::vector<FitOutcome> fits;  // by key
  std::string document;          // of format hardware-1
};

// Whose records give the price of sampling: the likeliest token, or one drawn from the likeliest.
enum class SamplerChoice : std::uint8_t { kGreedy, kTopP };

// `name` of the machine. InputError without a single product, or without records of the drawn sampler where it is asked for.
[[nodiscard]] RecordFit fit_records(const RecordFile& measured, const std::string& name, SamplerChoice sampler = SamplerChoice::kGreedy);

// The parts of it. The document has no rows yet: as many devices as ranks worked at once, which reach each other
// through the host.
[[nodiscard]] MachineRates machine_rates(const RecordFile& file);
[[nodiscard]] std::string machine_document(const RecordFile& file, const MachineRates& rates, const std::string& name);
// Several inputs of one key: forms to choose from.
[[nodiscard]] std::vector<FitInput> record_inputs(const RecordFile& file, const HardwareProfile& machine);

}  // namespace shardplan
