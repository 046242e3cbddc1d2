// A pool of equal instances as the simulator runs it: prices, host costs, blocks, seats and token budget of one
// configuration, from the same deployment that `estimate` prices.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "planner/cluster.h"
#include "planner/deployment.h"
#include "planner/plan.h"
#include "sim/priced_timer.h"
#include "sim/simulation.h"

namespace shardplan {

// How steps are shared. What is not given is the engine's.
struct SchedulingChoice {
  std::string scheduler;                  // a row of schedulers(); empty: the engine's, vllm without one
  std::optional<bool> chunked_prefill;
  bool async_scheduling = true;           // a step is planned while the one before it runs
  bool prefix_caching = true;
  bool skip_ahead = true;
  bool mixed_chunk = false;               // SGLang
  std::int64_t long_prompt_tokens = 0;    // most tokens of one prompt in a step; 0: no limit
  std::int64_t hold_steps = 0;            // TensorRT-LLM's batching wait
  double hold_ratio = 0.9;
  std::int64_t balance_steps = 0;         // TensorRT-LLM's attention-DP balance
  bool draws_routing = false;             // experts of each step drawn from the popularity law: EP waits for its busiest rank
  std::optional<Seconds> tbt;             // token budget: the largest whose steps beside full decodes last no longer
};

struct RoutingChoice {
  std::string router = "round_robin";     // a row of routers()
  bool sees_groups = true;                // false: whole instances only
};

class SimulatedPool {
 public:
  // Throws LoweringRefusal. Preconditions: the configuration is legal; `request` outlives the pool. InputError when no
  // token budget meets `scheduling.tbt`.
  SimulatedPool(const PlanRequest& request, const ParallelConfig& config, const SchedulingChoice& scheduling, const RoutingChoice& routing,
                DeviceOrder order = DeviceOrder::kStageMajor);
  SimulatedPool(const SimulatedPool&) = delete;
  SimulatedPool& operator=(const SimulatedPool&) = delete;

  [[nodiscard]] const PoolSettings& settings() const { return settings_; }
  [[nodiscard]] const Ledger& ledger() const { return deployment_.ledger(); }
  [[nodiscard]] const ParallelConfig& config() const { return deployment_.config(); }
  // Before the engine sees a request.
  [[nodiscard]] ServerPath server() const { return {.fixed = host_.first_token, .per_prompt_token = host_.per_prompt_token}; }

 private:
  [[nodiscard]] SchedulerLimits limits(const SchedulingChoice& scheduling) const;
  [[nodiscard]] std::int64_t budget_within(Seconds tbt, const SchedulerLimits& limits);

  const PlanRequest& request_;
  Cluster cluster_;
  Deployment deployment_;
  HostCost host_;
  bool mixes_;
  std::string scheduler_;
  PricedTimer timer_;
  std::optional<RoutingDraws> routing_;
  PoolSettings settings_;
};

// The row of schedulers() that an engine's name stands for.
[[nodiscard]] std::string scheduler_of_engine(const PlanRequest& request);

}  // namespace shardplan
