// The engines, one .cc file each; planner/engines/registry.cc lists them in order.
#pragma once

#include <cstdint>
#include <vector>

#include "planner/engine.h"
#include "planner/rules.h"

namespace shardplan {

[[nodiscard]] Engine neutral_engine();
[[nodiscard]] Engine vllm_engine();

// Rule tables that are long enough for a file of their own.
[[nodiscard]] const std::vector<EngineRule>& vllm_rules();
[[nodiscard]] std::vector<EngineRule> vllm_context_parallel_rules();
[[nodiscard]] std::vector<EngineRule> vllm_expert_rules();
[[nodiscard]] std::vector<EngineRule> vllm_alignment_rules();

}  // namespace shardplan
