// The degrees of a parallel configuration under their names in documents, flags and `PlanRequest::fixed_names`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "costmodel/parallel_config.h"

namespace shardplan {

struct DegreeField {
  const char* name;  // "moe_tp"; the flag is --moe-tp
  std::int64_t ParallelConfig::*member;
  const char* help;
};

// replicas, pp, dpa, pcp, tp, dcp, moe_tp, ep, moe_dp.
[[nodiscard]] const std::vector<DegreeField>& degree_fields();

// "--moe-tp" of "moe_tp", and back.
[[nodiscard]] std::string flag_of(const std::string& key);
[[nodiscard]] std::string key_of(const std::string& flag);

}  // namespace shardplan
