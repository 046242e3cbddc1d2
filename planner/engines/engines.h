// The engines, one .cc file each; planner/engines/registry.cc lists them in order.
#pragma once

#include <cstdint>
#include <vector>

#include "planner/engine.h"
#include "planner/rules.h"

namespace shardplan {

[[nodiscard]] Engine neutral_engine();
[[nodiscard]] Engine vllm_engine();
[[nodiscard]] Engine sglang_engine();
[[nodiscard]] Engine trtllm_engine();
[[nodiscard]] Engine rtp_llm_engine();

// Rule tables that are long enough for a file of their own.
[[nodiscard]] const std::vector<EngineRule>& vllm_rules();
[[nodiscard]] std::vector<EngineRule> vllm_context_parallel_rules();
[[nodiscard]] std::vector<EngineRule> vllm_expert_rules();
[[nodiscard]] std::vector<EngineRule> vllm_alignment_rules();
[[nodiscard]] const std::vector<EngineRule>& sglang_rules();
[[nodiscard]] const std::vector<EngineRule>& trtllm_rules();
[[nodiscard]] const std::vector<EngineRule>& rtp_llm_rules();

// TensorRT-LLM's generated kernels for NVFP4 experts ("min_latency" rows) are taken from a release on; before it, CUTLASS's.
[[nodiscard]] std::vector<std::string> with_generated_experts(bool has_them, std::vector<std::string> libraries = {});

// MiB that RTP-LLM keeps free while it runs (reserver_runtime_mem_mb).
inline constexpr std::int64_t kRtpRuntimeReserveMib = 1024;

}  // namespace shardplan
