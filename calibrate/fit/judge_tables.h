// Measured kernels and collectives against the rows of a profile: each sample predicted by the row that answers for it.
//
// A sample goes through the same readers as a fit, so what physics forbids is left out and counted. The row is the one
// that was fitted on the sample's library where there is one ("gemm.bf16@trtllm"), else the plain one.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "calibrate/fit/kernel_fit.h"
#include "calibrate/fit/measured_table.h"
#include "hwprofiles/profile.h"

namespace shardplan {

struct JudgedSample {
  std::size_t cell = 0;  // of the table
  double measured_us = 0;
  double predicted_us = 0;
  Spread spread;             // of measured/predicted, as the row says for this size
  bool slow_series = false;  // its whole series runs at a fraction of the speed of its siblings
};

// A parameter's part in a sample's time: how much the time grows (or, below 0, shrinks) with it, in logarithms. Of a
// form that is a sum of times the parts of the times add up to 1.
struct ParameterShare {
  std::string parameter;
  double share = 0;
};

struct WorstSample {
  std::size_t sample = 0;              // of JudgedRow::samples
  std::vector<ParameterShare> shares;  // largest first
};

// What one table says of one row.
struct JudgedRow {
  std::string key;          // "gemm.bf16@trtllm"; of collectives the first of the rows it is priced with
  bool same_table = false;  // the row was fitted on this table: errors are those of the fit itself
  FitRecord fit;            // held-out errors as the row records them
  bool has_row = false;     // false: the profile has none: nothing is predicted
  std::vector<JudgedSample> samples;
  std::vector<WorstSample> worst;               // not of slow series
  std::map<std::string, std::int64_t> dropped;  // why -> samples
};

// `worst`: samples of each row that are broken down.
[[nodiscard]] std::vector<JudgedRow> judge_table(const MeasuredTable& table, const HardwareProfile& hardware,
                                                 std::size_t worst);

}  // namespace shardplan
