#include "planner/objective.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

#include "base/errors.h"
#include "base/suggest.h"

namespace shardplan {
namespace {

double per_budget_gpu(const PlanRequest& request, std::int64_t, const ServingEstimate& serving) {
  return serving.output_tokens_per_second / static_cast<double>(std::max<std::int64_t>(1, request.gpus));
}

double per_user(const PlanRequest&, std::int64_t, const ServingEstimate& serving) {
  return serving.tokens_per_second_per_user;
}

double end_to_end(const PlanRequest&, std::int64_t, const ServingEstimate& serving) {
  return 1.0 / std::max(serving.e2e.value(), 1e-12);
}

double few_gpus(const PlanRequest&, std::int64_t gpus, const ServingEstimate&) {
  return 1.0 / static_cast<double>(gpus);
}

// Tokens per dollar; without a price, per GPU-hour.
double per_dollar(const PlanRequest& request, std::int64_t, const ServingEstimate& serving) {
  const double price = request.hardware.price_per_hour > 0 ? request.hardware.price_per_hour : 1.0;
  return serving.output_tokens_per_second_per_gpu * 3600.0 / price;
}

// Tokens per joule at the board's rated power: an upper bound of the energy.
double per_joule(const PlanRequest& request, std::int64_t, const ServingEstimate& serving) {
  const double watts = request.hardware.device.power_watts > 0 ? request.hardware.device.power_watts : 1.0;
  return serving.output_tokens_per_second_per_gpu / watts;
}

// Scores as whole millionths of a natural logarithm, so that equal up to rounding means equal.
std::int64_t rounded(double score) {
  return score <= 0 ? std::numeric_limits<std::int64_t>::min()
                    : static_cast<std::int64_t>(std::llround(std::log(score) * 1e6));
}

}  // namespace

const std::vector<ObjectiveRow>& objectives() {
  static const std::vector<ObjectiveRow> rows{
      {Objective::kThroughput, "throughput", "output tokens/s per GPU", "best throughput", true, false, per_budget_gpu},
      {Objective::kInteractivity, "interactivity", "output tokens/s of one user", "best interactivity", false, false, per_user},
      {Objective::kLatency, "latency", "shortest time of a whole request", "best latency", false, false, end_to_end},
      {Objective::kGpus, "gpus", "fewest GPUs that meet the targets", "fewest GPUs", true, true, few_gpus},
      {Objective::kCost, "cost", "output tokens per dollar", "most tokens per dollar", true, true, per_dollar},
      {Objective::kEnergy, "energy", "output tokens per joule", "most tokens per joule", true, true, per_joule},
  };
  return rows;
}

const ObjectiveRow& row_of(Objective objective) {
  const auto& rows = objectives();
  const auto row =
      std::find_if(rows.begin(), rows.end(), [objective](const ObjectiveRow& r) { return r.objective == objective; });
  ensure(row != rows.end(), "every objective has a row");
  return *row;
}

Objective parse_objective(const std::string& text) {
  std::vector<std::string> names;
  for (const ObjectiveRow& row : objectives()) {
    if (text == row.name) return row.objective;
    names.emplace_back(row.name);
  }
  throw InputError("--objective", "unknown objective '" + text + "'", nearest_hint(text, names));
}

const char* name_of(Objective objective) { return row_of(objective).name; }

std::int64_t strategies_used(const ParallelConfig& c) {
  std::int64_t count = c.variant.helix || c.variant.q_replicate ? 1 : 0;
  for (const std::int64_t degree : {c.pp, c.dpa, c.pcp, c.tp, c.dcp, c.ep, c.moe_tp, c.moe_dp, c.variant.hop_b}) {
    count += degree > 1 ? 1 : 0;
  }
  return count;
}

RankKey rank_key(double score, std::int64_t gpus, std::int64_t parts, const ServingEstimate& serving) {
  return {score, rounded(score), gpus, rounded(serving.tpot.value()), rounded(serving.output_tokens_per_second), parts};
}

RankKey rank_key(double score, const ParallelConfig& config, const ServingEstimate& serving) {
  return rank_key(score, config.gpus(), strategies_used(config), serving);
}

RankKey bound_key(double score, std::int64_t gpus, Seconds tpot) {
  return {score, rounded(score), gpus, rounded(tpot.value()), std::numeric_limits<std::int64_t>::max(), 0};
}

bool ranks_before(const RankKey& a, const RankKey& b) {
  return std::tie(b.score_rank, a.gpus, a.tpot_rank, b.rate_rank, a.parts) <
         std::tie(a.score_rank, b.gpus, b.tpot_rank, a.rate_rank, b.parts);
}

}  // namespace shardplan
