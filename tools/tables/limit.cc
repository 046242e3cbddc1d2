#include "tools/tables/limit.h"

#include <optional>

namespace shardplan {
namespace {

// The target that is used up most, "" without targets.
std::string tightest_target(const ServingEstimate& serving, const Targets& targets) {
  std::string name;
  double most = 0;
  const auto look = [&](const char* target_name, const std::optional<Seconds>& target, Seconds value) {
    if (!target || value / *target <= most) return;
    most = value / *target;
    name = target_name;
  };
  look("TTFT target", targets.ttft, serving.ttft);
  look("TPOT target", targets.tpot, serving.tpot);
  look("e2e target", targets.e2e, serving.e2e);
  return name;
}

}  // namespace

std::string limit_of(const Plan& plan, const PlanRequest& request) {
  const std::string target = tightest_target(plan.serving, request.targets);
  if (!plan.meets_targets) return target.empty() ? plan.serving.bound : "misses the " + target;
  const bool searched = !request.workload.concurrency && !request.workload.requests_per_second;
  if (!searched || plan.serving.bound != "concurrency") return plan.serving.bound;
  if (!target.empty()) return target;
  const auto room = static_cast<double>(plan.ledger.request_capacity(request.workload.tokens()));
  return plan.serving.running + 1 > room ? "kv cache" : "seats";
}

}  // namespace shardplan
