#include "tools/request/parallel_fields.h"

#include <algorithm>

namespace shardplan {

const std::vector<DegreeField>& degree_fields() {
  static const std::vector<DegreeField> kFields = {
      {"replicas", &ParallelConfig::replicas, "instances that serve side by side"},
      {"pp", &ParallelConfig::pp, "pipeline stages"},
      {"dpa", &ParallelConfig::dpa, "attention groups of an instance (attention data parallelism)"},
      {"pcp", &ParallelConfig::pcp, "ranks that share the positions of a prefill"},
      {"tp", &ParallelConfig::tp, "ranks of an attention group (tensor parallelism)"},
      {"dcp", &ParallelConfig::dcp, "ranks of a group that share cached positions in decode; adds no GPU"},
      {"moe_tp", &ParallelConfig::moe_tp, "ranks that share each expert"},
      {"ep", &ParallelConfig::ep, "ranks that whole experts are spread over"},
      {"moe_dp", &ParallelConfig::moe_dp, "copies of the experts in a stage"},
  };
  return kFields;
}

std::string flag_of(const std::string& key) {
  std::string flag = "--" + key;
  std::replace(flag.begin(), flag.end(), '_', '-');
  return flag;
}

std::string key_of(const std::string& flag) {
  std::string key = flag.substr(2);
  std::replace(key.begin(), key.end(), '-', '_');
  return key;
}

}  // namespace shardplan
