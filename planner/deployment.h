// One configuration made concrete under a request: graphs, layer split, ledger and prices.
//
// What the search, `estimate`, `explain` and the export share, so that all of them see the same deployment. Defaults
// come from the engine, flags of the request replace them.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "costmodel/collective_pricer.h"
#include "costmodel/ledger.h"
#include "costmodel/lowered_model.h"
#include "costmodel/step_price.h"
#include "planner/plan.h"
#include "planner/serving.h"

namespace shardplan {

// What a search varies beside the configuration.
struct Setting {
  DeviceOrder order = DeviceOrder::kStageMajor;
  std::int64_t max_batched_tokens = 0;  // 0: the request's, or the engine's
};

[[nodiscard]] const Engine& engine_of(const PlanRequest& request);
// The engine's version as given, or its default; "" for neutral.
[[nodiscard]] std::string version_of(const PlanRequest& request);
// Whose kernels its engine runs.
[[nodiscard]] KernelOptions kernel_options(const PlanRequest& request);
[[nodiscard]] GraphFormats formats_of(const PlanRequest& request);
[[nodiscard]] EngineMemory memory_of(const PlanRequest& request, const ParallelConfig& config);
[[nodiscard]] SchedulerDefaults scheduler_of(const PlanRequest& request, const ParallelConfig& config,
                                             std::int64_t max_batched_tokens);
// What its engine adds to the kernels, and how surely: the shipped rows, or the request's own.
[[nodiscard]] TimesKey times_key(const PlanRequest& request);
[[nodiscard]] EngineTimes times_of(const PlanRequest& request);
// Context that one request may reach: --max-model-len, or isl + osl.
[[nodiscard]] std::int64_t context_of(const PlanRequest& request);
// The step that activations are sized for: every seat taken, the rest of the budget a prompt, in every group.
[[nodiscard]] MemoryDemand demand_of(const PlanRequest& request, const ParallelConfig& config,
                                     const SchedulerDefaults& scheduler);
// Neutral legality, then the engine's rules.
[[nodiscard]] std::vector<Violation> violations_of(const PlanRequest& request, const ParallelConfig& config);

// What all pipeline depths of a table share: step graphs, and prices where stages are contiguous on devices.
struct SharedTable {
  std::shared_ptr<const LoweredModel> lowered;
  std::shared_ptr<const StepPricer> pricer;  // kStageMajor only
};
[[nodiscard]] SharedTable share_table(const PlanRequest& request, const ParallelConfig& table,
                                      const CollectivePricer& collectives);

class Deployment {
 public:
  // Throws LoweringRefusal. Precondition: check_config is empty. `request` and `collectives` must outlive the
  // deployment; the latter's fabric has room for one instance. `shared` lends what pipeline depths have in common.
  Deployment(const PlanRequest& request, const ParallelConfig& config, const Setting& setting,
             const CollectivePricer& collectives, const SharedTable& shared = {});

  Deployment(const Deployment&) = delete;
  Deployment& operator=(const Deployment&) = delete;

  [[nodiscard]] const ParallelConfig& config() const { return config_; }
  [[nodiscard]] const SchedulerDefaults& scheduler() const { return scheduler_; }
  [[nodiscard]] const LoweredModel& lowered() const { return *shared_.lowered; }
  [[nodiscard]] const std::vector<std::int64_t>& split() const { return split_; }
  [[nodiscard]] const std::vector<StageLayers>& stages() const { return stages_; }
  [[nodiscard]] const Ledger& ledger() const { return ledger_; }
  [[nodiscard]] DeviceOrder order() const { return order_; }
  // Made on first use: a configuration that does not fit is not priced in a search.
  [[nodiscard]] const StepPricer& pricer();
  [[nodiscard]] ServingInput serving_input();
  // Another chunk size: memory and seats follow.
  void use_chunk(std::int64_t max_batched_tokens);
  void use_replicas(std::int64_t replicas) { config_.replicas = replicas; }
  // Without serving numbers and score.
  [[nodiscard]] Plan plan() const;

 private:
  void choose_split();
  [[nodiscard]] std::vector<std::int64_t> balanced_split();
  void use_split(std::vector<std::int64_t> split);

  const PlanRequest& request_;
  ParallelConfig config_;
  DeviceOrder order_;
  const CollectivePricer& collectives_;
  SharedTable shared_;
  EngineMemory memory_;
  EngineTimes times_;
  SchedulerDefaults scheduler_;
  std::vector<std::int64_t> split_;
  std::vector<StageLayers> stages_;
  Ledger ledger_;
};

// A shape of steady traffic: B decode tokens and the prompt tokens that keep them coming, B*isl/osl.
[[nodiscard]] BatchShape steady_shape(const PlanRequest& request, const ParallelConfig& config, std::int64_t sequences);

}  // namespace shardplan
