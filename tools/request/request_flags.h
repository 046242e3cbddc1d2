// The flags that ask a question of the planner: model, machine, traffic, targets, engine, layout.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/cli/flag.h"
#include "tools/request/parallel_flags.h"
#include "tools/request/simulate_flags.h"

namespace shardplan {

struct WorkloadFlags {
  std::optional<std::int64_t> isl, osl, prefix, concurrency;
  std::optional<double> request_rate, acceptance;
  std::optional<double> ttft_ms, tpot_ms, e2e_ms, confidence;
};

struct EngineFlags {
  std::string engine, engine_version, overlay;
  std::string weight_dtype, kv_dtype, activation_dtype;
  std::optional<double> memory_fraction, memory_held_gib;
  bool symmetric_memory = false;
  std::optional<std::int64_t> block_size, max_model_len, max_num_seqs, max_num_batched_tokens;
};

struct MachineFlags {
  std::string hardware, fabric;
  std::optional<std::int64_t> gpus, gpus_per_node;
  std::optional<double> nic_gbps;
  std::string mode;  // "sol", "calibrated"; empty: as the profile allows
};

// Bare steps instead of a workload (estimate only).
struct StepFlags {
  std::optional<std::int64_t> batch, context, prefill_tokens;
};

struct SearchFlags {
  std::string objective;
  std::optional<std::int64_t> top, verify;
  bool pools = false;
};

struct GivenFlag {
  std::string name;
  std::string text;     // "" of a switch
  bool number = false;  // text is one number
};

struct RequestFlags {
  std::string model;
  MachineFlags machine;
  WorkloadFlags workload;
  EngineFlags engine;
  ParallelFlags parallel;
  std::string expert_load;
  std::string scale_to;
  StepFlags steps;
  SearchFlags search;
  SimulateFlags simulate;
  // In the order of --help: a document keeps them so that the question can be asked again.
  std::vector<GivenFlag> given;
};

// Of every command that asks; `flags` must outlive them. `simulates`: pools and speculation are the
// command's own flags.
[[nodiscard]] std::vector<FlagGroup> request_flags(RequestFlags& flags, bool simulates = false);
[[nodiscard]] FlagGroup step_flags(RequestFlags& flags);
[[nodiscard]] FlagGroup search_flags(RequestFlags& flags);
// `group`, whose flags also note their text as given.
[[nodiscard]] FlagGroup recorded(FlagGroup group, RequestFlags& flags);

}  // namespace shardplan
