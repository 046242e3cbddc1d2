#include "planner/simulated_pool.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/errors.h"

namespace shardplan {
namespace {

constexpr std::uint64_t kRoutingSeed = 0;
constexpr std::int64_t kNoBudget = 1'000'000'000'000;  // tokens

HostTimes host_times(const EngineTimes& times, const ParallelConfig& config, bool draws_routing) {
  const HostCost& host = times.host;
  return {.per_step = host.per_step,
          .per_sequence = host.per_sequence,
          .per_layer = host.per_layer,
          .prefill_launch_per_layer = host.prefill_launch_per_layer,
          .groups = config.dpa,
          .decode_ratio = times.decode_ratio,
          .prefill_ratio = times.prefill_ratio,
          .routing_groups = draws_routing && config.ep > 1 ? config.moe_dp : 0};
}

// Of one attention group. Where layers have windows many short requests hold less than one long one.
std::int64_t blocks_of(const Ledger& ledger, std::int64_t groups) {
  return ceil_div(std::min(ledger.group_capacity_tokens, ledger.kv_capacity_tokens / groups), ledger.block_tokens);
}

// Part of a step of prompts that an attention group does for its own requests: everything outside the FFN, which all
// groups share. Between the names that a layer's FFN branch begins and ends with.
double own_part(const StepPricer& pricer, const std::vector<StageLayers>& stages, const BatchShape& shape) {
  const StepBreakdown step = pricer.breakdown(stages, shape);
  double own = 0;
  double all = 0;
  bool inside = false;
  for (const OpRow& op : step.ops) {
    if (op.name.ends_with("ffn_in")) inside = true;
    if (op.name.ends_with("attention_in") || op.name.ends_with("head_in")) inside = false;
    const double seconds = op.time.value() * static_cast<double>(op.count);
    all += seconds;
    if (!inside) own += seconds;
  }
  for (const CollectiveRow& row : step.collectives) all += row.time.value() * static_cast<double>(row.count);
  return all > 0 ? std::min(1.0, own / all) : 1;
}

// Routed layers of one model have one number of experts in every published config.
RoutingDraws routing_draws(const PlanRequest& request, const ParallelConfig& config) {
  const ModelSpec& model = request.model;
  std::int64_t layers = 0;
  const FfnSpec* routed = nullptr;
  for (const int kind : model.layers) {
    const FfnSpec& ffn = model.kinds[static_cast<std::size_t>(kind)].ffn;
    if (ffn.experts <= 1) continue;
    routed = &ffn;
    ++layers;
  }
  ensure(routed != nullptr, "an EP group without routed experts");
  return {rank_shares(request.price.expert_load, routed->experts, routed->experts_per_token, config.ep, config.variant.redundant_experts), layers,
          kRoutingSeed};
}

}  // namespace

std::string scheduler_of_engine(const PlanRequest& request) {
  const std::string engine = times_key(request).engine;
  for (const SchedulerRow& row : schedulers()) {
    if (row.name == engine) return row.name;
  }
  return "vllm";
}

SimulatedPool::SimulatedPool(const PlanRequest& request, const ParallelConfig& config, const SchedulingChoice& scheduling,
                             const RoutingChoice& routing, DeviceOrder order)
    : request_(request),
      cluster_(request, config.instance_gpus()),
      deployment_(request, config, {.order = order}, cluster_.collectives()),
      host_(times_of(request).host),
      mixes_(deployment_.lowered().mixes()),
      scheduler_(scheduling.scheduler.empty() ? scheduler_of_engine(request) : scheduling.scheduler),
      timer_(deployment_.pricer(), deployment_.stages(), host_times(times_of(request), config, scheduling.draws_routing),
             {.tokens = config.variant.speculative_tokens, .acceptance_ratio = request.workload.acceptance_ratio}) {
  const Ledger& ledger = deployment_.ledger();
  InstanceSettings& instance = settings_.instance;
  instance.scheduler = scheduler_;
  instance.limits = limits(scheduling);
  instance.groups = config.dpa;
  instance.lanes = config.pp;
  instance.blocks = blocks_of(ledger, config.dpa);
  instance.block_tokens = ledger.block_tokens;
  instance.max_request_tokens = request.max_model_len;
  instance.async_scheduling = scheduling.async_scheduling;
  instance.prefix_caching = scheduling.prefix_caching;
  instance.skip_ahead = scheduling.skip_ahead;
  if (config.dpa > 1 && ledger.fits) {
    const std::int64_t tokens = std::min(instance.limits.max_batched_tokens, std::max<std::int64_t>(1, request.workload.isl));
    instance.busiest_ratio = own_part(deployment_.pricer(), deployment_.stages(), {.prefill_sequences = config.dpa, .prefill_tokens = tokens});
  }
  if (scheduling.draws_routing && config.ep > 1) {
    routing_.emplace(routing_draws(request, config));
    instance.routing = &*routing_;
  }
  settings_.replicas = config.replicas;
  settings_.timer = &timer_;
  settings_.router = routing.router;
  settings_.router_sees_groups = routing.sees_groups;
  if (scheduling.tbt) instance.limits.max_batched_tokens = budget_within(*scheduling.tbt, instance.limits);
}

// Orca computes whole prompts whatever their length: it knows seats and no budget.
SchedulerLimits SimulatedPool::limits(const SchedulingChoice& scheduling) const {
  const SchedulerDefaults& defaults = deployment_.scheduler();
  const bool orca = scheduler_ == "orca";
  SchedulerLimits limits;
  limits.max_batched_tokens = orca ? kNoBudget : defaults.max_batched_tokens;
  limits.max_sequences = defaults.max_sequences;
  limits.chunked_prefill = scheduling.chunked_prefill.value_or(defaults.chunked_prefill) && !orca;
  limits.mixes = mixes_;
  limits.long_prompt_tokens = scheduling.long_prompt_tokens;
  limits.hold_steps = scheduling.hold_steps;
  limits.hold_ratio = scheduling.hold_ratio;
  limits.mixed_chunk = scheduling.mixed_chunk;
  limits.balance_steps = scheduling.balance_steps;
  return limits;
}

// Sarathi-Serve's rule: the largest chunk beside a full batch of decodes that stays within the time between tokens.
std::int64_t SimulatedPool::budget_within(Seconds tbt, const SchedulerLimits& limits) {
  const Workload& w = request_.workload;
  const std::int64_t context = w.isl + w.osl / 2;
  const std::int64_t room = settings_.instance.blocks * settings_.instance.block_tokens / std::max<std::int64_t>(1, context);
  // Of a rate, what runs at once when every token takes that long.
  std::int64_t asked = w.concurrency.value_or(room);
  if (w.requests_per_second) asked = std::llround(*w.requests_per_second * static_cast<double>(w.osl) * tbt.value());
  asked /= deployment_.config().replicas * settings_.instance.groups;
  const std::int64_t decodes = std::clamp<std::int64_t>(std::min(room, asked), 1, limits.max_sequences);
  MixedTime time;
  const auto within = [&](std::int64_t chunk) {
    const std::int64_t groups = settings_.instance.groups;
    timer_.mixed({.decode_sequences = decodes * groups,
                  .decode_context = decodes * groups * context,
                  .prompts = groups,
                  .prompt_tokens = chunk * groups,
                  .prompt_pairs = groups * (chunk * (w.isl / 2) + chunk * (chunk + 1) / 2)},
                 time);
    return to_seconds(time.latency) <= tbt;
  };
  std::int64_t low = 1;
  std::int64_t high = std::max<std::int64_t>(2, limits.max_batched_tokens);
  if (!within(low)) {
    throw InputError("--tbt-ms", fmt::format("{:.3g} ms are less than a step of {} decodes takes", tbt.value() / kMilli, decodes),
                     "a longer time between tokens, or fewer seats (--max-num-seqs)");
  }
  while (high - low > 1) {
    const std::int64_t middle = (low + high) / 2;
    (within(middle) ? low : high) = middle;
  }
  return decodes + low;
}

}  // namespace shardplan
