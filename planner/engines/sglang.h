// What SGLang computes for itself and a launch file has to spell out: see planner/engines/sglang.cc.
#pragma once

#include <cstdint>

#include "costmodel/parallel_config.h"
#include "hwprofiles/profile.h"
#include "models/model_spec.h"

namespace shardplan {

struct SglangMemory {
  double memory_mib = 0;          // of a GPU, as the driver reports it
  std::int64_t gpus = 1;          // tp * pp in SGLang's words
  std::int64_t chunk = 8192;      // --chunked-prefill-size before it is divided by dp
  std::int64_t decode_graph = 0;  // sequences of the largest captured decode step
  std::int64_t attention_dp = 1;
  bool latent = false;
  bool prefill_graphs = false;
  bool deepep = false;
};
// MiB that are kept from weights and cache; H100 (81,559 MiB) at tp 8: 14,848.
[[nodiscard]] double sglang_reserved_mib(const SglangMemory& m);
// The computed --mem-fraction-static, three digits.
[[nodiscard]] double sglang_memory_fraction(const SglangMemory& m);
// The --moe-a2a-backend that moves tokens as `config` does: "none", "flashinfer", "deepep".
[[nodiscard]] const char* sglang_all_to_all(const ModelSpec& model, const ParallelConfig& config,
                                            const HardwareProfile& hardware);

}  // namespace shardplan
