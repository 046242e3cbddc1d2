// Flags of the parallel layout: degrees and variants, and what follows from those given.
#pragma once

#include <string>
#include <vector>

#include "costmodel/parallel_config.h"
#include "models/model_spec.h"
#include "tools/cli/flag.h"

namespace shardplan {

struct ParallelFlags {
  ParallelConfig config;           // what was given; the rest as one GPU
  std::vector<std::string> given;  // "tp", "dcp_comm", ...: names of `PlanRequest::fixed_names`
  [[nodiscard]] bool has(const std::string& name) const;
};

[[nodiscard]] std::vector<FlagGroup> parallel_flags(ParallelFlags& flags);

// InputError for flags that contradict one another, or more GPUs than anybody has.
void check_parallel_flags(const ParallelFlags& flags);

// One configuration. What was not given follows:
//   replicas = gpus / GPUs of an instance (gpus 0: 1);
//   of n ranks in a stage, experts are split by tensor parallelism when no FFN degree is given (moe_tp = n); else
//   moe_tp = gcd(n/(ep*moe_dp), tp) and moe_dp = n/(ep*moe_tp): what is left inside an attention group splits experts,
//   what is left outside copies them;
//   moe_comm is `replicated` where all ranks of a stage have the same tokens, else `all_gather`.
// InputError when `gpus` is no multiple of an instance.
[[nodiscard]] ParallelConfig complete_config(const ParallelFlags& flags, const ModelSpec& model, std::int64_t gpus);

}  // namespace shardplan
