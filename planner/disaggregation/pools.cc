#include "planner/disaggregation/pools.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "base/errors.h"
#include "planner/cache_transfer.h"
#include "planner/disaggregation/pool_side.h"
#include "planner/objective.h"
#include "planner/search/fixed.h"
#include "planner/targets.h"

namespace shardplan {
namespace {

constexpr std::size_t kMostPairs = 48;  // looked at closely
constexpr int kHalvings = 24;
constexpr std::int64_t kMostMore = 4;  // instances beyond the match, of either side, less one

struct Pair {
  const PoolCandidate* prefill;
  const PoolCandidate* decode;
  std::int64_t prefill_instances = 1;
  std::int64_t decode_instances = 1;
  double rate = 0;
  [[nodiscard]] std::int64_t gpus() const {
    return prefill_instances * prefill->plan.config.instance_gpus() +
           decode_instances * decode->plan.config.instance_gpus();
  }
};

bool is_ahead(const Pair& a, const Pair& b, bool fewest) {
  const double closeness = 1e-9 * std::max(a.rate, b.rate);
  if (fewest && a.gpus() != b.gpus()) return a.gpus() < b.gpus();
  if (std::abs(a.rate - b.rate) > closeness) return a.rate > b.rate;
  return a.gpus() < b.gpus();
}

// The numbers of instances with the highest rate, or the fewest GPUs that reach what is asked.
std::optional<Pair> matched(const PlanRequest& request, const PoolCandidate& prefill, const PoolCandidate& decode) {
  const std::int64_t of_prefill = prefill.plan.config.instance_gpus();
  const std::int64_t of_decode = decode.plan.config.instance_gpus();
  const std::optional<double> asked = request.workload.requests_per_second;
  std::optional<Pair> best;
  for (std::int64_t n = 1; n * of_prefill + of_decode <= request.gpus; ++n) {
    Pair pair{&prefill, &decode, n, (request.gpus - n * of_prefill) / of_decode};
    const double wanted = std::min(static_cast<double>(n) * prefill.requests_per_second, asked.value_or(1e300));
    const auto needed = static_cast<std::int64_t>(std::ceil(wanted / decode.requests_per_second - 1e-9));
    pair.decode_instances = std::clamp<std::int64_t>(needed, 1, pair.decode_instances);
    pair.rate = std::min(wanted, static_cast<double>(pair.decode_instances) * decode.requests_per_second);
    if (asked && pair.rate < *asked * (1 - 1e-9)) continue;
    if (!best || is_ahead(pair, *best, asked.has_value())) best = pair;
  }
  return best;
}

std::vector<Pair> best_pairs(const PlanRequest& request, const std::vector<PoolCandidate>& prefill,
                             const std::vector<PoolCandidate>& decode) {
  std::vector<Pair> pairs;
  for (const PoolCandidate& p : prefill) {
    for (const PoolCandidate& d : decode) {
      if (p.plan.ledger.block_tokens != d.plan.ledger.block_tokens) continue;  // caches move block by block
      if (const auto pair = matched(request, p, d)) pairs.push_back(*pair);
    }
  }
  const bool fewest = request.workload.requests_per_second.has_value() || request.objective == Objective::kGpus;
  std::stable_sort(pairs.begin(), pairs.end(),
                   [fewest](const Pair& a, const Pair& b) { return is_ahead(a, b, fewest); });
  if (pairs.size() > kMostPairs) pairs.resize(kMostPairs);
  return pairs;
}

// Both sides at one rate.
class Match {
 public:
  Match(const PlanRequest& request, const Pair& pair)
      : request_(request),
        pair_(pair),
        prefill_(prefill_request(request), pair.prefill->plan, pair.prefill_instances),
        decode_(decode_request(request), pair.decode->plan, pair.decode_instances) {
    const TransferSettings link = cache_transfer(request, {prefill_.config(), pair.prefill->plan.ledger},
                                                 {decode_.config(), pair.decode->plan.ledger});
    bytes_ = link.bytes_per_token_ratio * static_cast<double>(request.workload.isl);
    transfer_ = link.start_up + Seconds(bytes_ / std::min(link.sender, link.receiver).value());
  }

  // At the highest rate that meets the targets and the asked concurrency; nothing where none does.
  std::optional<PoolsPlan> best() {
    const double asked = request_.workload.requests_per_second.value_or(1e300);
    const double most = std::min({prefill_.most(), decode_.most(), asked / 0.999}) * 0.999;
    if (most <= 0) return std::nullopt;
    std::optional<PoolsPlan> found = at(most);
    if (found || request_.workload.requests_per_second) return found;
    double low = 0, high = most;
    for (int i = 0; i < kHalvings; ++i) {
      const double middle = (low + high) / 2;
      std::optional<PoolsPlan> tried = at(middle);
      (tried ? low : high) = middle;
      if (tried) found = std::move(tried);
    }
    return found;
  }

 private:
  std::optional<PoolsPlan> at(double rate) {
    const ServingEstimate p = prefill_.at(rate);
    const ServingEstimate d = decode_.at(rate);
    if (!p.feasible || !d.feasible) return std::nullopt;
    PoolsPlan out;
    out.transfer_bytes = bytes_;
    out.transfer = transfer_;
    out.serving = together(p, d, rate);
    if (target_miss(out.serving, request_.targets) || out.serving.concurrency > most_at_once()) return std::nullopt;
    out.prefill = {pair_.prefill->plan, prefill_.most(), rate / prefill_.most()};
    out.decode = {pair_.decode->plan, decode_.most(), rate / decode_.most()};
    out.prefill.plan.config = prefill_.config();
    out.decode.plan.config = decode_.config();
    out.prefill.plan.serving = p;
    out.decode.plan.serving = d;
    out.score = row_of(request_.objective).score(request_, out.gpus(), out.serving);
    return out;
  }

  // Without asked traffic: as many as the targets allow, or one at a time where the objective is one user's.
  double most_at_once() const {
    if (request_.workload.concurrency) return static_cast<double>(*request_.workload.concurrency);
    const bool alone = !request_.workload.requests_per_second && !row_of(request_.objective).most_requests;
    return alone ? 1.0 : 1e300;
  }

  ServingEstimate together(const ServingEstimate& p, const ServingEstimate& d, double rate) const {
    const auto osl = static_cast<double>(request_.workload.osl);
    const double steps = std::max(1.0, osl - 1);
    ServingEstimate out = p;
    out.bound = "";
    out.ttft = p.ttft + transfer_ + d.ttft_queue;
    out.tpot = d.tpot + d.ttft_prefill / steps;
    out.decode_step = d.decode_step;
    out.prefill_extra = d.prefill_extra;
    out.e2e = out.ttft + out.tpot * std::max(0.0, osl - 1);
    out.requests_per_second = rate;
    out.output_tokens_per_second = rate * osl;
    out.output_tokens_per_second_per_gpu = out.output_tokens_per_second / static_cast<double>(pair_.gpus());
    out.tokens_per_second_per_user = 1 / out.tpot.value();
    out.concurrency = rate * out.e2e.value();
    out.running = out.concurrency;
    out.spread = {.tpot = pair_.decode->plan.serving.spread.tpot,
                  .ttft = pair_.prefill->plan.serving.spread.ttft,
                  .end_to_end = std::max(pair_.decode->plan.serving.spread.end_to_end,
                                         pair_.prefill->plan.serving.spread.end_to_end)};
    return out;
  }

  const PlanRequest& request_;
  const Pair& pair_;
  PoolSide prefill_;
  PoolSide decode_;
  double bytes_ = 0;
  Seconds transfer_;
};

// The pair as matched; where a rate was asked for that it misses the targets at, with the fewest instances more.
std::optional<PoolsPlan> plan_of(const PlanRequest& request, const Pair& pair) {
  std::vector<Pair> tries{pair};
  if (request.workload.requests_per_second) {
    for (std::int64_t more = 1; more < kMostMore * kMostMore; ++more) {
      Pair wider = pair;
      wider.prefill_instances += more / kMostMore;
      wider.decode_instances += more % kMostMore;
      if (wider.gpus() <= request.gpus) tries.push_back(wider);
    }
    std::stable_sort(tries.begin(), tries.end(), [](const Pair& a, const Pair& b) { return a.gpus() < b.gpus(); });
  }
  for (const Pair& one : tries) {
    if (auto plan = Match(request, one).best()) return plan;
  }
  return std::nullopt;
}

RankKey key_of(const PoolsPlan& plan) {
  const std::int64_t parts = strategies_used(plan.prefill.plan.config) + strategies_used(plan.decode.plan.config);
  return rank_key(plan.score, plan.gpus(), parts, plan.serving);
}

std::string refusal(const PlanRequest& request, const std::vector<PoolCandidate>& prefill,
                    const std::vector<PoolCandidate>& decode) {
  if (request.gpus < 2)
    return fmt::format("two pools need at least 2 GPUs, one for each, and --gpus is {}", request.gpus);
  if (prefill.empty()) return "no instance computes prompts within the TTFT target and the memory it has";
  if (decode.empty()) return "no instance computes answers within the TPOT target and the memory it has";
  return fmt::format("no pair of pools on {} GPUs serves the traffic within the targets", request.gpus);
}

}  // namespace

PoolsResult search_pools(const PlanRequest& request) {
  if (is_fixed(request, "replicas"))
    throw InputError("--replicas", "is of one pool, and there are two", "none: pools count their own instances");
  const std::vector<PoolCandidate> prefill = pool_candidates(prefill_request(request));
  const std::vector<PoolCandidate> decode = pool_candidates(decode_request(request));
  PoolsResult out;
  for (const Pair& pair : best_pairs(request, prefill, decode)) {
    if (auto plan = plan_of(request, pair)) out.plans.push_back(std::move(*plan));
  }
  std::stable_sort(out.plans.begin(), out.plans.end(),
                   [](const PoolsPlan& a, const PoolsPlan& b) { return ranks_before(key_of(a), key_of(b)); });
  if (std::ssize(out.plans) > request.top) out.plans.resize(static_cast<std::size_t>(request.top));
  if (out.plans.empty()) out.refused = refusal(request, prefill, decode);
  return out;
}

}  // namespace shardplan
