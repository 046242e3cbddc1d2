// Which configurations a check runs: every strategy of the lowering registry with its variants, alone and with tensor
// parallelism, at every degree that the ranks allow.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "costmodel/parallel_config.h"
#include "models/model_spec.h"

namespace shardplan {

struct CheckCase {
  std::string lowering;   // strategy_modules()' name
  ModelSpec model;
  ParallelConfig config;
};

// Legal ones only, on 1 to `ranks` ranks, in a fixed order, none twice for a model.
[[nodiscard]] std::vector<CheckCase> check_cases(const std::vector<ModelSpec>& models, std::int64_t ranks);

}  // namespace shardplan
