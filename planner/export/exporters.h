// The exporters, one .cc file each and one for its flags; planner/export/registry.cc lists them in order.
#pragma once

#include "planner/export/launch.h"

namespace shardplan {

[[nodiscard]] Exporter vllm_exporter();
[[nodiscard]] Exporter sglang_exporter();
[[nodiscard]] Exporter trtllm_exporter();
[[nodiscard]] Exporter rtp_llm_exporter();

[[nodiscard]] const std::vector<FlagRow>& vllm_flags();
[[nodiscard]] const std::vector<FlagRow>& sglang_flags();
[[nodiscard]] const std::vector<FlagRow>& trtllm_flags();
[[nodiscard]] const std::vector<FlagRow>& rtp_llm_flags();

}  // namespace shardplan
