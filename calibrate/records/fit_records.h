// A profile of a machine from its records: each kernel family's fixed cost and two efficiencies, each collective's latency
// and bandwidth.
//
//   kernel      t = fixed + max(flops/(peak*e_c), bytes/(bandwidth*e_m));   peak and bandwidth: the best that any record reached
//   collective  t = base + per_rank*(n-1) + sent/(bandwidth*efficiency)     (no ramp: half is one byte)
// Coefficients minimise the mean |log(predicted/measured)| over a grid that is refined three times. Three of ten shapes, by
// their hash, are left out of the fit and judge it. Wrong where ranks that work at once take memory from one another:
// records of all rank counts are fitted together.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "calibrate/records/record.h"

namespace shardplan {

struct FitQuality {
  std::int64_t fitted = 0;
  std::int64_t held_out = 0;
  double error_ratio = 0;            // mean |predicted/measured - 1| of the held-out shapes; of the fitted where there are none
};

struct KernelFit {
  double fixed_us = 0;
  double compute_efficiency = 1;
  double memory_efficiency = 1;
  FitQuality quality;
};

struct CollectiveFit {
  double base_us = 0;
  double per_rank_us = 0;
  double efficiency = 1;
  FitQuality quality;
};

struct RecordFit {
  double peak_flops_per_us = 0;
  double bandwidth_bytes_per_us = 0;
  double link_bytes_per_us = 0;
  std::map<std::string, KernelFit> kernels;          // by row of a profile: a family, or "default"
  std::map<std::string, CollectiveFit> collectives;  // by kind
};

// InputError without a single product.
[[nodiscard]] RecordFit fit_records(const RecordFile& file);
// The hardware document (format hardware-1) of the fitted machine: `ranks` devices that reach each other through the host.
[[nodiscard]] std::string hardware_of(const RecordFile& file, const RecordFit& fit, const std::string& name, std::int64_t ranks);

}  // namespace shardplan
