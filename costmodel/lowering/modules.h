// The strategy modules, one .cc file each; costmodel/lowering/registry.cc lists them in order.
#pragma once

#include "costmodel/lowering/registry.h"

namespace shardplan {

[[nodiscard]] StrategyModule attention_dp_module();
[[nodiscard]] StrategyModule prefill_context_parallel_module();
[[nodiscard]] StrategyModule tensor_parallel_module();
[[nodiscard]] StrategyModule decode_context_parallel_module();
[[nodiscard]] StrategyModule helix_module();
[[nodiscard]] StrategyModule expert_parallel_module();
[[nodiscard]] StrategyModule capacity_factor_module();
[[nodiscard]] StrategyModule pipeline_module();
[[nodiscard]] StrategyModule speculation_module();

// Degrees as a stage resolves them: the defaults of dense_tp and shared_expert_tp filled in.
[[nodiscard]] std::int64_t dense_width(const ModelSpec& model, const ParallelConfig& config);
[[nodiscard]] std::int64_t shared_width(const ModelSpec& model, const ParallelConfig& config);
// Whether tokens of the residual stream are split over the whole stage between blocks (sequence parallel): so that
// each token enters an FFN wider than its attention group, or leaves for its experts, from one rank.
[[nodiscard]] bool splits_residual(const ModelSpec& model, const ParallelConfig& config);

}  // namespace shardplan
