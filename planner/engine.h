// An inference engine as data: what it can run, how it lays out ranks and layers, what it adds to the kernels.
//
// One file and one row per engine (planner/engines/). Legality is a table of rules (planner/rules.h: id, version
// range, severity, message), never code spread over the planner; `neutral` is no engine at all: only the algebra's
// own rules.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/quantity.h"
#include "costmodel/ledger.h"
#include "costmodel/lowering/registry.h"
#include "costmodel/parallel_config.h"
#include "hwprofiles/profile.h"
#include "models/model_spec.h"

namespace shardplan {

struct EngineRule;

// What one step costs the host beside the kernels, and what a request costs before its first step.
// Sources: serving_model section 5 (vLLM), serving_protocols section 5 (host path of a request).
struct HostCost {
  Seconds per_step{0.6e-3};                  // scheduler and launch work that is not hidden
  Seconds per_sequence{12e-6};               // sampling, detokenisation, block tables
  Seconds per_layer{3e-6};                   // small kernels and gaps that are not in the graph
  Seconds first_token{20e-3};                // server path of a request: tokenise, queue, stream
  Seconds per_prompt_token{0};               // of the server path; the search adds isl of them to first_token
  Seconds prefill_launch_per_layer{200e-6};  // a step with prefill is never shorter: launches are not captured
};

struct SchedulerDefaults {
  std::int64_t max_batched_tokens = 8192;  // tokens of one step
  std::int64_t max_sequences = 1024;       // running at once, per attention group
  bool chunked_prefill = true;
};

struct Engine {
  const char* name;  // "vllm", "neutral"
  const char* help;
  const char* default_version;
  // Legality beyond the algebra's, in the order in which violations are told.
  const std::vector<EngineRule>& (*rules)();
  std::vector<std::int64_t> (*layer_split)(std::int64_t layers, std::int64_t stages);
  EngineMemory (*memory)(const ModelSpec&, const ParallelConfig&, const HardwareProfile&, const std::string& version);
  SchedulerDefaults (*scheduler)(const ModelSpec&, const ParallelConfig&, const HardwareProfile&);
  HostCost (*host)(const ModelSpec&, const ParallelConfig&);
  // Whether a launch file can be written.
  bool exports;

  // Violations of a neutral-legal configuration under this engine's rules; "" is the default version.
  [[nodiscard]] std::vector<Violation> check(const ModelSpec& model, const ParallelConfig& config,
                                             const HardwareProfile& hardware, const std::string& version) const;
  // Legal, but worth a word: rules of severity `warning`.
  [[nodiscard]] std::vector<Violation> warnings(const ModelSpec& model, const ParallelConfig& config,
                                                const HardwareProfile& hardware, const std::string& version) const;
};

[[nodiscard]] const std::vector<Engine>& engines();
// "" gives neutral; InputError naming the nearest engine otherwise.
[[nodiscard]] const Engine& require_engine(const std::string& name);

}  // namespace shardplan
