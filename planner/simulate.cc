#include "planner/simulate.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>

#include "base/errors.h"

namespace shardplan {
namespace {

SimulationInput input_of(const PlanRequest& request, const SimulatedPool& pool, const SimulatedTraffic& traffic, const SimulationSettings& settings) {
  SimulationInput input;
  input.pool = pool.settings();
  input.server = pool.server();
  input.targets = {.ttft = request.targets.ttft, .tpot = request.targets.tpot, .e2e = request.targets.e2e};
  input.tiers = cache_tiers(request, {pool.config(), pool.ledger()}, settings.tiers);
  input.faults = settings.faults;
  input.requeue_lost = settings.requeue_lost;
  if (settings.max_waiting > 0) input.max_waiting = settings.max_waiting;
  if (settings.stop_after) input.stop = sim_time(*settings.stop_after);
  input.seed = traffic.seed;
  input.records = settings.records;
  input.timeline = settings.timeline;
  return input;
}

// The same question about requests of at most `tokens` tokens.
PlanRequest limited(const PlanRequest& request, std::int64_t tokens) {
  PlanRequest out = request;
  if (tokens >= request.workload.tokens()) return out;
  out.max_model_len = tokens;
  Workload& w = out.workload;
  w.osl = std::max<std::int64_t>(1, std::min(w.osl, tokens / 2));
  w.isl = std::max<std::int64_t>(1, std::min(w.isl, tokens - w.osl));
  w.prefix = std::min(w.prefix, w.isl - 1);
  return out;
}

std::int64_t most_admitted(const PlanRequest& request) {
  const std::int64_t positions = request.engine != nullptr && request.max_model_len == 0 ? request.model.max_positions : 0;
  std::int64_t tokens = request.workload.tokens();
  for (const std::int64_t limit : {request.max_model_len, positions}) {
    if (limit > 0) tokens = std::min(tokens, limit);
  }
  return tokens;
}

}  // namespace

PlanRequest sized_request(const PlanRequest& request, const ParallelConfig& config) {
  if (!check_config(request.model, config).empty()) return request;
  const Cluster cluster(request, config.instance_gpus());
  SharedTable shared;
  const auto fits = [&](std::int64_t tokens) {
    const PlanRequest question = limited(request, tokens);
    const Deployment deployment(question, config, {}, cluster.collectives(), shared);
    return deployment.ledger().fits;
  };
  try {
    shared.lowered = std::make_shared<const LoweredModel>(lower_model(request.model, config, formats_of(request)));
    const std::int64_t most = most_admitted(request);
    if (fits(most)) return limited(request, most);
    std::int64_t low = 2;
    std::int64_t high = most;
    if (most <= low || !fits(low)) return request;
    while (high - low > std::max<std::int64_t>(1, low / 256)) {
      const std::int64_t middle = (low + high) / 2;
      (fits(middle) ? low : high) = middle;
    }
    return limited(request, low);
  } catch (const LoweringRefusal&) {
    return request;
  }
}

namespace {

// The layouts that an instance goes through, each a pool of its own. The cache is as large as the tightest of them leaves it:
// it is not made anew.
SimulationResult simulate_scaled(const PlanRequest& request, const ParallelConfig& config, const SimulatedTraffic& traffic, const SimulationSettings& settings) {
  std::map<std::int64_t, std::unique_ptr<SimulatedPool>> pools;
  const auto pool_of = [&](std::int64_t ranks) -> const SimulatedPool& {
    std::unique_ptr<SimulatedPool>& pool = pools[ranks];
    if (pool) return *pool;
    const std::string obstacle = scale_obstacle(request, config, ranks);
    if (!obstacle.empty()) throw InputError("--scale", fmt::format("{} ranks: {}", ranks, obstacle), "a layout that is legal and fits");
    pool = std::make_unique<SimulatedPool>(request, scaled_config(request, config, ranks), settings.scheduling, settings.routing);
    return *pool;
  };
  const SimulatedPool& first = pool_of(config.stage_ranks());
  SimulationInput input = input_of(request, first, traffic, settings);
  std::vector<std::int64_t> layouts{config.stage_ranks()};   // in turn; where a drain is given up an earlier one stays
  for (const ScaleAsk& ask : settings.scales.asks) {
    const SimulatedPool& next = pool_of(ask.ranks);
    input.pool.instance.blocks = std::min(input.pool.instance.blocks, next.settings().instance.blocks);
    const auto times_from = [&](std::int64_t ranks) -> ScaleTimes {
      const ParallelConfig& from = pool_of(ranks).config();
      const ScaleCost cost = scale_cost(request, from, next.config(), 0, settings.scales.fixed);
      return {from.dpa, sim_time(cost.prepare), sim_time(cost.pause())};
    };
    const ScaleTimes times = times_from(layouts.back());
    std::vector<ScaleTimes> otherwise;
    if (settings.scales.drain) {
      for (const std::int64_t ranks : std::set<std::int64_t>(layouts.begin(), layouts.end())) otherwise.push_back(times_from(ranks));
    }
    for (std::int32_t replica = 0; replica < static_cast<std::int32_t>(config.replicas); ++replica) {
      input.scales.push_back({.replica = replica, .at = sim_time(ask.at), .prepare = times.prepare, .pause = times.pause,
                              .groups = next.config().dpa, .timer = next.settings().timer, .busiest_ratio = next.settings().instance.busiest_ratio,
                              .drain = settings.scales.drain.has_value(), .drain_timeout = sim_time(settings.scales.drain.value_or(Seconds(0))), .otherwise = otherwise});
    }
    layouts.push_back(ask.ranks);
  }
  const auto source = make_source(traffic, request.workload, first.ledger().block_tokens);
  input.source = source.get();
  return simulate(input);
}

}  // namespace

SimulationResult simulate_config(const PlanRequest& request, const ParallelConfig& config, const SimulatedTraffic& traffic,
                                 const SimulationSettings& settings) {
  if (!settings.scales.asks.empty()) return simulate_scaled(request, config, traffic, settings);
  return simulate_pool(request, SimulatedPool(request, config, settings.scheduling, settings.routing), traffic, settings);
}

SimulationResult simulate_pool(const PlanRequest& request, const SimulatedPool& pool, const SimulatedTraffic& traffic,
                               const SimulationSettings& settings) {
  SimulationInput input = input_of(request, pool, traffic, settings);
  const auto source = make_source(traffic, request.workload, pool.ledger().block_tokens);
  input.source = source.get();
  return simulate(input);
}

SimulationResult simulate_pools(const PlanRequest& request, const PoolConfigs& pools, const SimulatedTraffic& traffic,
                                const SimulationSettings& settings) {
  const SimulatedPool prefill(request, pools.prefill, settings.scheduling, settings.routing);
  const SimulatedPool decode(request, pools.decode, settings.scheduling, settings.routing);
  return simulate_pools(request, prefill, decode, traffic, settings);
}

SimulationResult simulate_pools(const PlanRequest& request, const SimulatedPool& prefill, const SimulatedPool& decode,
                                const SimulatedTraffic& traffic, const SimulationSettings& settings) {
  SimulationInput input = input_of(request, prefill, traffic, settings);
  input.decode_pool = decode.settings();
  input.transfer = cache_transfer(request, {prefill.config(), prefill.ledger()}, {decode.config(), decode.ledger()});
  const auto source = make_source(traffic, request.workload, prefill.ledger().block_tokens);
  input.source = source.get();
  return simulate(input);
}

}  // namespace shardplan
