// How well engine times carry over: the same rows predicted by fits that have not seen them.
#pragma once

#include <string>
#include <vector>

#include "planner/measured/accuracy.h"
#include "planner/measured/fit.h"

namespace shardplan {

struct FoldLine {
  std::string name;                // "5-fold over rows"
  QuantityErrors errors;           // of rows whose cache holds the concurrency
  QuantityErrors seen, unseen;     // whether the fit had rows of the same kernels (engine, architecture, formats)
};

// Unfitted; all rows fitted; 5-fold over rows; one group, one model, one (machine, engine) left out; a group left out, then
// calibrated by four of its rows (which are not scored).
[[nodiscard]] std::vector<FoldLine> fold_lines(const std::vector<ServingRow>& rows, const std::vector<PricedRow>& priced,
                                               const EngineTimesTable& levels);

}  // namespace shardplan
