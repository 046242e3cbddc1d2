// Capacity factor: an expert takes at most C = ceil(CF*T*k/E) of the T tokens that its EP group works on in a step.
//
// Who is dropped is decided by the order of tokens over the whole group, so that the picks of all its tokens must be
// known: an all-gather of the routing (no message where tokens are gathered or replicated anyway), a count on every
// rank, a slice. What is dropped is neither dispatched, nor computed, nor combined; the residual stream carries the
// token past the experts.
#include <fmt/format.h>

#include "costmodel/lowering/modules.h"

namespace shardplan {
namespace {

constexpr double kMost = 1e6;

void check(const ModelSpec& model, const ParallelConfig& c, std::vector<Violation>& out) {
  const double factor = c.variant.capacity_factor_ratio;
  if (factor == 0) return;
  if (!(factor > 0 && factor <= kMost)) {  // NaN neither
    out.push_back(
        {"capacity_factor", fmt::format("a capacity factor of {} must be above 0 and at most 1,000,000", factor)});
  } else if (!model.is_moe()) {
    out.push_back({"capacity_factor", "a dense model has no experts whose capacity a factor could set"});
  }
}

void apply(const StrategyContext& context, Strategy& s) {
  s.capacity_factor_ratio = context.model.is_moe() ? context.config.variant.capacity_factor_ratio : 0;
}

}  // namespace

StrategyModule capacity_factor_module() {
  return {"capacity_factor", "no expert takes more than its capacity of tokens in a step; the rest is dropped", check,
          apply};
}

}  // namespace shardplan
