// What a search finds: ranked plans, the Pareto front, and why everything else was refused.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "costmodel/ledger.h"
#include "costmodel/step_price.h"
#include "planner/engine.h"
#include "planner/serving.h"
#include "planner/workload.h"
#include "sim/pool_role.h"

namespace shardplan {

enum class Objective : std::uint8_t { kThroughput, kInteractivity, kLatency, kGpus, kCost, kEnergy };
[[nodiscard]] Objective parse_objective(const std::string& text);  // InputError, nearest named
[[nodiscard]] const char* name_of(Objective objective);

// One question to the planner.
struct PlanRequest {
  ModelSpec model;
  HardwareProfile hardware;
  std::int64_t gpus = 8;
  Workload workload;
  Targets targets;
  Objective objective = Objective::kThroughput;
  PoolRole role = PoolRole::kServe;
  const Engine* engine = nullptr;  // nullptr: neutral
  std::string engine_version;
  std::shared_ptr<const EngineTimesTable> engine_times;  // nullptr: as shipped
  std::string engine_times_as;                           // name of an engine that has times but no rules here
  const NumberFormat* kv_format = nullptr;          // nullptr: the model's
  const NumberFormat* activation_format = nullptr;  // nullptr: bf16
  PriceOptions price;
  std::int64_t max_model_len = 0;       // 0: isl + osl
  double memory_fraction_ratio = 0;     // 0: the engine's
  Bytes memory_held;                    // of every device by other processes
  std::int64_t block_size = 0;          // 0: the engine's
  std::int64_t max_num_sequences = 0;   // 0: the engine's
  std::int64_t max_batched_tokens = 0;  // 0: the engine's, and in a search also others
  // Degrees that are fixed by flags; 0 means free (search) or 1 (estimate). Variants likewise.
  ParallelConfig fixed;
  std::vector<std::int64_t> scale_to;        // ranks of an instance that elastic plans tell the cost of
  std::vector<std::string> fixed_names;      // which fields of `fixed` were given: "tp", "dcp_comm", ...
  std::int64_t top = 10;                     // plans kept
  bool pareto = true;                        // also look for the front
  bool explain_empty = true;                 // when nothing is found, look for the nearest change that would help
  std::vector<std::string> disabled_passes;  // search passes switched off, for tests
};

// What single requests met under a plan (planner/verify.h).
struct SimulatedServing {
  std::int64_t rank_before = 0;   // from 1, by the closed form
  Seconds ttft, ttft_p99, tpot, tpot_p99, e2e;
  double output_tokens_per_second = 0;
  double output_tokens_per_second_per_gpu = 0;
  std::int64_t preempted = 0;
  std::int64_t rejected = 0;
  double score = 0;
  bool meets_targets = false;     // by the means, as in the search
};

struct Plan {
  ParallelConfig config;
  DeviceOrder order = DeviceOrder::kStageMajor;
  std::int64_t max_batched_tokens = 0;
  std::int64_t max_num_sequences = 0;  // per attention group
  std::vector<std::int64_t> layer_split;
  std::vector<StageLayers> stages;
  Ledger ledger;
  ServingEstimate serving;
  double score = 0;  // larger is better, by the objective
  bool meets_targets = false;
  std::optional<SimulatedServing> simulated;
  std::vector<Violation> warnings;  // legal for the engine, but worth a word
};

// A refused configuration, or a family of them.
struct Rejection {
  ParallelConfig config;   // the representative: the nearest miss
  std::string family;      // "tp8", "ep (all-to-all)", ...: which family it stands for
  std::string rule;        // "memory", "ttft", "tpot", "kv_heads_aligned", "dominated", ...
  std::string message;     // one sentence with numbers
  std::string suggestion;  // nearest change that would work, if known
  std::int64_t count = 1;  // configurations that it stands for
};

struct SearchStats {
  std::int64_t considered = 0;
  std::int64_t legal = 0;
  std::int64_t fitting = 0;
  std::int64_t priced = 0;   // serving estimates made
  double seconds_ratio = 0;  // wall time, not part of deterministic output
  std::vector<std::pair<std::string, double>> pass_seconds;
};

struct PlanResult {
  std::vector<Plan> plans;   // best first
  std::vector<Plan> pareto;  // tokens/s/GPU against tokens/s/user, fastest user first
  std::vector<Rejection> rejected;
  std::vector<std::string> nearest_feasible;  // when nothing fits: what change would, nearest first
  std::vector<std::string> notes;             // warnings: context beyond the model's, uncalibrated profile, ...
  SearchStats stats;
};

[[nodiscard]] PlanResult search_plans(const PlanRequest& request);

// One configuration, legal or not: what `estimate` shows. Prices what it can.
struct EstimateResult {
  std::vector<Violation> violations;
  bool lowered = false;  // the fields below are filled
  Plan plan;
  StepBreakdown prefill;
  StepBreakdown decode;
  std::vector<std::string> notes;
};
// `decode_shape` / `prefill_shape` are the bare steps asked for (--batch/--context, --prefill-tokens), or the steady
// state's.
struct BareSteps {
  bool given = false;
  BatchShape decode;
  BatchShape prefill;
};
[[nodiscard]] EstimateResult estimate_config(const PlanRequest& request, const ParallelConfig& config,
                                             const BareSteps& bare);

}  // namespace shardplan
