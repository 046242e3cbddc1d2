// What rules of several engines look for. Each finding is the offending number, or nothing when the rule holds.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "planner/rules.h"

namespace shardplan {

using Finding = std::optional<std::int64_t>;

[[nodiscard]] inline Finding when(bool broken, std::int64_t value = 0) {
  return broken ? Finding(value) : std::nullopt;
}

[[nodiscard]] bool has_grouped_attention(const RuleFacts& f);
[[nodiscard]] bool has_experts_over_ranks(const RuleFacts& f);
// Tokens differ between the ranks that experts are spread over.
[[nodiscard]] bool has_distinct_tokens(const RuleFacts& f);

// Sizes.
[[nodiscard]] Finding heads_over_tp(const RuleFacts& f);
[[nodiscard]] Finding padded_vocab_over_tp(const RuleFacts& f);  // padded to 64; the value is the padded size
[[nodiscard]] Finding tp_beyond_domain(const RuleFacts& f);      // the value is the domain
[[nodiscard]] Finding vision_heads_over_tp(const RuleFacts& f);  // the value is the image tower's heads
[[nodiscard]] Finding dense_attention_dp(const RuleFacts& f);    // attention DP of a model without experts

// Speculation: drafted tokens beside pipeline stages or positions split over ranks, and no multiple of the modules.
[[nodiscard]] Finding drafts_over_stages(const RuleFacts& f);
[[nodiscard]] Finding drafts_over_positions(const RuleFacts& f);
[[nodiscard]] Finding drafts_over_modules(const RuleFacts& f);

// Context parallelism.
[[nodiscard]] Finding helix_asked(const RuleFacts& f);
[[nodiscard]] Finding hop_b_asked(const RuleFacts& f);
[[nodiscard]] Finding dcp_over_tp(const RuleFacts& f);  // tp % dcp, pcp being 1
[[nodiscard]] Finding pcp_not_gathered(const RuleFacts& f);

// Experts.
[[nodiscard]] Finding redundant_without_ep(const RuleFacts& f);
[[nodiscard]] Finding redundant_over_ep(const RuleFacts& f);  // (experts + redundant) % ep; the value is ep
[[nodiscard]] Finding experts_over_ep(const RuleFacts& f);    // experts % ep without redundant ones; the value is ep
[[nodiscard]] Finding moe_dp_asked(const RuleFacts& f);
[[nodiscard]] Finding capacity_asked(const RuleFacts& f);
[[nodiscard]] Finding elastic_asked(const RuleFacts& f);
[[nodiscard]] Finding chunked_or_fused_overlap(const RuleFacts& f);
[[nodiscard]] Finding two_batch_without_all_to_all(const RuleFacts& f);

// Shards of quantised weights: the value is the width per rank that cuts a scale block (or a Marlin tile).
[[nodiscard]] Finding fp8_block_experts(const RuleFacts& f);
[[nodiscard]] Finding fp8_block_dense(const RuleFacts& f);
[[nodiscard]] Finding fp8_block_shared(const RuleFacts& f);
[[nodiscard]] Finding fp8_block_attention(const RuleFacts& f);
[[nodiscard]] Finding marlin_dense(const RuleFacts& f);
[[nodiscard]] Finding marlin_experts(const RuleFacts& f);

[[nodiscard]] bool is_fp8_block(const NumberFormat* format);
[[nodiscard]] bool is_one_of(std::string_view name, const std::vector<std::string_view>& names);

}  // namespace shardplan
