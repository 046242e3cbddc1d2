// Configurations that the benchmarks of the cost model have in common.
#pragma once

#include <string>
#include <vector>

#include "costmodel/parallel_config.h"

namespace shardplan {

struct BenchCase {
  std::string model;
  ParallelConfig config;
};

[[nodiscard]] inline const std::vector<BenchCase>& bench_cases() {
  static const std::vector<BenchCase> cases{
      {"llama-3.1-8b", {}},
      {"llama-3.1-70b", {.tp = 8}},
      {"qwen3-235b-a22b", {.tp = 8, .dcp = 2, .moe_tp = 8}},
      {"qwen3-235b-a22b", {.pcp = 2, .tp = 4, .moe_tp = 8, .variant = {.pcp_comm = PcpComm::kRing}}},
      {"deepseek-v3", {.pp = 2, .tp = 8, .ep = 8}},
      {"deepseek-v3", {.dpa = 8, .ep = 8, .variant = {.moe_comm = MoeComm::kAllToAll}}},
  };
  return cases;
}

}  // namespace shardplan
