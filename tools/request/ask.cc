#include "tools/request/ask.h"

#include <fmt/format.h>

#include <cmath>
#include <optional>

#include "base/units.h"
#include "planner/deployment.h"
#include "planner/verify.h"

namespace shardplan {
namespace {

std::string thousands(std::int64_t count) { return format_count(static_cast<double>(count)); }

// Engines refuse a context beyond the model's positions unless it is asked for by name.
std::optional<Violation> context_violation(const PlanRequest& request) {
  const std::int64_t tokens = request.workload.tokens();
  const std::int64_t positions = request.model.max_positions;
  const bool allowed = request.engine == nullptr || request.max_model_len > 0 || positions == 0 || tokens <= positions;
  if (allowed) return std::nullopt;
  return Violation{"max_positions", fmt::format("{} refuses a context of {} tokens: {} has {} positions; --max-model-len {} says that it is meant",
                                                request.engine->name, thousands(tokens), request.model.name, thousands(positions), tokens)};
}

// The sequences of a bare decode step need room for their cache at the same time.
void judge_batch(const BatchShape& decode, Ledger& ledger) {
  if (!ledger.fits || decode.decode_sequences == 0) return;
  const auto context = static_cast<std::int64_t>(std::ceil(decode.decode_context));
  const std::int64_t room = ledger.request_capacity(context);
  if (room >= decode.decode_sequences) return;
  ledger.fits = false;
  ledger.misfit = fmt::format("{} sequences of {} positions need more cache than there is: room for {}", thousands(decode.decode_sequences),
                              thousands(context), thousands(room));
}

// What may be used, where nothing could be built that uses it.
void set_capacity(const PlanRequest& request, const ParallelConfig& config, Ledger& ledger) {
  ledger.device_bytes = request.hardware.device.visible_memory();
  ledger.capacity_bytes = usable_bytes(memory_of(request, config), ledger.device_bytes);
}

}  // namespace

PlanAnswer ask_plan(const PlanRequest& request, const SearchFlags& search) {
  PlanAnswer answer;
  PlanResult& result = answer.result;
  const auto violation = context_violation(request);
  if (!violation) {
    const auto count = static_cast<std::size_t>(search.verify.value_or(0));
    result = search_plans(request);
    verify_plans(request, count, result.plans);
    if (!search.pools) return answer;
    answer.pools = search_pools(request);
    verify_pools(request, count, answer.pools->plans);
    return answer;
  }
  if (search.pools) answer.pools = PoolsResult{.plans = {}, .refused = violation->message};
  result.rejected.push_back({.config = {}, .family = "every layout", .rule = violation->rule, .message = violation->message, .suggestion = ""});
  result.nearest_feasible.push_back(fmt::format("--max-model-len {}, or requests of at most {} tokens", request.workload.tokens(),
                                                thousands(request.model.max_positions)));
  return answer;
}

EstimateResult ask_estimate(const PlanRequest& request, const ParallelConfig& config, const BareSteps& steps) {
  EstimateResult result = estimate_config(request, config, steps);
  if (const auto violation = context_violation(request)) result.violations.push_back(*violation);
  if (!result.lowered) set_capacity(request, config, result.plan.ledger);
  else if (steps.given) judge_batch(steps.decode, result.plan.ledger);
  return result;
}

}  // namespace shardplan
