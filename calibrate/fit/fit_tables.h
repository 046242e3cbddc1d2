// Everything a set of measured tables says about one machine's kernels: the fits, and which table answers for which row.
#pragma once

#include <string>
#include <vector>

#include "calibrate/fit/kernel_fit.h"
#include "calibrate/fit/measured_table.h"
#include "hwprofiles/profile.h"

namespace shardplan {

struct TableFits {
  std::vector<FitOutcome> fits;            // ordered by key
  std::vector<FitOutcome> refused;         // nothing usable left: only key, source and what was dropped
};

// Fits every family of every table. Of one library's releases the newest answers. Where several libraries give the same row
// the one with most samples is plain (vLLM's before others with as many) and the others' carry "@<backend>"; a row without
// usable samples takes no place.
[[nodiscard]] TableFits fit_tables(const std::vector<MeasuredTable>& tables, const HardwareProfile& hardware);

}  // namespace shardplan
