#include "planner/simulate.h"

#include <algorithm>

#include "planner/cluster.h"
#include "planner/deployment.h"
#include "sim/priced_timer.h"

namespace shardplan {
namespace {

constexpr std::int64_t kNoBudget = 1'000'000'000'000;   // tokens

HostTimes host_times(const HostCost& host, const ParallelConfig& config) {
  return {.per_step = host.per_step,
          .per_sequence = host.per_sequence,
          .per_layer = host.per_layer,
          .prefill_launch_per_layer = host.prefill_launch_per_layer,
          .groups = config.dpa};
}

// Orca computes whole prompts whatever their length: it knows seats and no budget.
SchedulerLimits limits_of(const ServingInput& serving, const std::string& scheduler) {
  const SchedulerDefaults& defaults = serving.scheduler;
  const bool orca = scheduler == "orca";
  return {.max_batched_tokens = orca ? kNoBudget : defaults.max_batched_tokens,
          .max_sequences = defaults.max_sequences,
          .chunked_prefill = defaults.chunked_prefill && !orca,
          .mixes = serving.mixes};
}

// Of one attention group. Where layers have windows many short requests hold less than one long one.
std::int64_t blocks_of(const Ledger& ledger, std::int64_t groups) {
  return ceil_div(std::min(ledger.group_capacity_tokens, ledger.kv_capacity_tokens / groups), ledger.block_tokens);
}

PoolSettings pool_of(const ServingInput& serving, const SimulationSettings& settings, StepTimer& timer) {
  PoolSettings pool;
  pool.instance.scheduler = settings.scheduler;
  pool.instance.limits = limits_of(serving, settings.scheduler);
  pool.instance.groups = serving.config.dpa;
  pool.instance.lanes = serving.config.pp;
  pool.instance.blocks = blocks_of(serving.ledger, serving.config.dpa);
  pool.instance.block_tokens = serving.ledger.block_tokens;
  pool.replicas = serving.config.replicas;
  pool.timer = &timer;
  pool.router = settings.router;
  return pool;
}

}  // namespace

SimulationResult simulate_config(const PlanRequest& request, const ParallelConfig& config, const SimulatedTraffic& traffic,
                                 const SimulationSettings& settings) {
  const Cluster cluster(request, config.instance_gpus());
  Deployment deployment(request, config, {}, cluster.collectives());
  const ServingInput serving = deployment.serving_input();
  const HostCost host = engine_of(request).host(request.model, config);
  PricedTimer timer(serving.pricer, serving.stages, host_times(host, config));
  const auto source = make_source(traffic, request.workload);
  SimulationInput input;
  input.pool = pool_of(serving, settings, timer);
  input.server = {.fixed = host.first_token, .per_prompt_token = host.per_prompt_token};
  input.source = source.get();
  input.targets = {.ttft = request.targets.ttft, .tpot = request.targets.tpot, .e2e = request.targets.e2e};
  input.seed = traffic.seed;
  input.records = settings.records;
  input.timeline = settings.timeline;
  return simulate(input);
}

}  // namespace shardplan
