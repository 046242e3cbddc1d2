#include "planner/search/tiling.h"

#include <algorithm>
#include <array>

#include "planner/search/fixed.h"

namespace shardplan {

bool tiles(const PlanRequest& request, std::int64_t gpus) {
  constexpr std::array kDegrees{"tp", "pcp", "dpa", "pp"};
  if (std::any_of(kDegrees.begin(), kDegrees.end(), [&](const char* name) { return is_fixed(request, name); })) return true;
  const std::int64_t domain = request.hardware.node.domain;
  return domain % gpus == 0 || gpus % domain == 0 || request.gpus % gpus == 0;
}

std::int64_t instances_that_fit(const PlanRequest& request, std::int64_t instance_gpus) {
  const std::int64_t domain = request.hardware.node.domain;
  if (instance_gpus >= domain) return request.gpus / instance_gpus;
  return request.gpus / domain * (domain / instance_gpus) + request.gpus % domain / instance_gpus;
}

}  // namespace shardplan
