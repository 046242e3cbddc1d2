// Start-ups that vLLM logged (shared measured/memory_vllm_h100.csv) and the same deployments through the planner.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "planner/plan.h"

namespace shardplan {

using StartUpRow = std::map<std::string, std::string>;

[[nodiscard]] std::vector<StartUpRow> start_up_rows();  // none where the log is not there
// "4.26/3.28/3.28/4.26": one number per stage, or one that holds for stage 0 alone.
[[nodiscard]] std::vector<double> stage_numbers(const StartUpRow& row, const std::string& name);
// The deployment of a row as its flags say it.
[[nodiscard]] Plan planned(const StartUpRow& row);

// A plan of one configuration under an engine's rules; what is asked beside the degrees.
struct StartUp {
  std::string model;
  std::string hardware = "h100-sxm";
  const char* engine = "vllm";
  std::string version = "0.19.0";
  std::string weight_format;  // "": as published
  std::string kv_format;
  std::string dtype;  // of everything that is not quantised; "": as published
  double memory_fraction = 0.9;
  std::int64_t max_model_len = 8192;
  std::int64_t max_batched_tokens = 0;
  std::int64_t max_num_seqs = 0;
  ParallelConfig config;
};
[[nodiscard]] Plan start(const StartUp& what);
[[nodiscard]] Plan start(ModelSpec model, const StartUp& what);

}  // namespace shardplan
