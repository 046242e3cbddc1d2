#include "planner/engines/findings.h"

#include <algorithm>

#include "costmodel/lowering/modules.h"

namespace shardplan {
namespace {

bool is_group_int4(const NumberFormat* format) {
  return format != nullptr && format->weight_only && format->bits == 4 && format->name.starts_with("int4");
}

// The first width over the layer kinds that `broken` finds, nothing when all are aligned.
template <class Broken>
Finding first_broken(const RuleFacts& f, Broken broken) {
  for (const LayerKind& kind : f.model.kinds) {
    if (const Finding found = broken(kind)) return found;
  }
  return std::nullopt;
}

Finding unaligned(std::int64_t size, std::int64_t parts, std::int64_t block) {
  if (size == 0 || parts < 1 || size % parts != 0) return std::nullopt;  // the algebra's rules say so already
  return size / parts % block == 0 ? std::nullopt : Finding(size / parts);
}

std::int64_t marlin_tile(const NumberFormat& format) { return std::max<std::int64_t>(128, format.block_columns); }

}  // namespace

bool has_grouped_attention(const RuleFacts& f) { return attention_of(f.model).kind == AttentionKind::kGrouped; }
bool has_experts_over_ranks(const RuleFacts& f) { return f.model.is_moe() && f.config.stage_ranks() > 1; }
bool has_distinct_tokens(const RuleFacts& f) { return f.config.dpa > 1 || f.config.pcp > 1; }

Finding heads_over_tp(const RuleFacts& f) { return when(attention_of(f.model).q_heads % f.config.tp != 0); }

Finding padded_vocab_over_tp(const RuleFacts& f) {
  const std::int64_t padded = (f.model.vocab + 63) / 64 * 64;
  return when(padded % f.config.tp != 0, padded);
}

Finding vision_heads_over_tp(const RuleFacts& f) {
  return when(f.model.vision_heads % f.config.tp != 0, f.model.vision_heads);
}

Finding tp_beyond_domain(const RuleFacts& f) {
  return when(f.config.tp > f.hardware.node.domain, f.hardware.node.domain);
}

Finding dense_attention_dp(const RuleFacts& f) { return when(!f.model.is_moe() && f.config.dpa > 1, f.config.dpa); }

Finding drafts_over_stages(const RuleFacts& f) {
  return when(f.config.variant.speculative_tokens > 0 && f.config.pp > 1, f.config.pp);
}

Finding drafts_over_positions(const RuleFacts& f) {
  return when(f.config.variant.speculative_tokens > 0 && f.config.dcp > 1, f.config.dcp);
}

Finding drafts_over_modules(const RuleFacts& f) {
  const std::int64_t drafts = f.config.variant.speculative_tokens;
  const std::int64_t modules = f.model.mtp_modules;
  return when(modules > 0 && drafts > modules && drafts % modules != 0, drafts);
}

Finding helix_asked(const RuleFacts& f) { return when(f.config.variant.helix); }
Finding hop_b_asked(const RuleFacts& f) { return when(f.config.variant.hop_b > 1, f.config.variant.hop_b); }

Finding dcp_over_tp(const RuleFacts& f) {
  return when(f.config.dcp > 1 && f.config.pcp == 1 && f.config.tp % f.config.dcp != 0);
}

Finding pcp_not_gathered(const RuleFacts& f) {
  return when(f.config.pcp > 1 && f.config.variant.pcp_comm != PcpComm::kAllGather);
}

Finding capacity_asked(const RuleFacts& f) { return when(f.config.variant.capacity_factor_ratio > 0); }

Finding elastic_asked(const RuleFacts& f) { return when(f.config.variant.elastic_ep); }

Finding redundant_without_ep(const RuleFacts& f) {
  return when(f.config.variant.redundant_experts > 0 && f.config.ep == 1, f.config.variant.redundant_experts);
}

Finding redundant_over_ep(const RuleFacts& f) {
  const FfnSpec* moe = moe_of(f.model);
  if (moe == nullptr || f.config.variant.redundant_experts == 0) return std::nullopt;
  return when((moe->experts + f.config.variant.redundant_experts) % f.config.ep != 0, f.config.ep);
}

Finding experts_over_ep(const RuleFacts& f) {
  const FfnSpec* moe = moe_of(f.model);
  return when(moe != nullptr && f.config.variant.redundant_experts == 0 && moe->experts % f.config.ep != 0,
              f.config.ep);
}

Finding moe_dp_asked(const RuleFacts& f) {
  return when(has_experts_over_ranks(f) && f.config.moe_dp > 1, f.config.moe_dp);
}

Finding chunked_or_fused_overlap(const RuleFacts& f) {
  const Overlap o = f.config.variant.overlap;
  return when(o == Overlap::kChunk || o == Overlap::kFused);
}

Finding two_batch_without_all_to_all(const RuleFacts& f) {
  return when(f.config.variant.overlap == Overlap::kTwoBatch && f.config.variant.moe_comm != MoeComm::kAllToAll);
}

bool is_fp8_block(const NumberFormat* format) {
  return format != nullptr && format->bits == 8 && format->block_rows > 1 && format->block_columns > 1;
}

Finding fp8_block_experts(const RuleFacts& f) {
  return first_broken(f, [&f](const LayerKind& kind) -> Finding {
    if (kind.ffn.kind != FfnKind::kMoe || !is_fp8_block(kind.formats.experts)) return std::nullopt;
    return unaligned(kind.ffn.intermediate, f.config.moe_tp, kind.formats.experts->block_rows);
  });
}

Finding fp8_block_dense(const RuleFacts& f) {
  return first_broken(f, [&f](const LayerKind& kind) -> Finding {
    if (kind.ffn.kind != FfnKind::kDense || !is_fp8_block(kind.formats.dense_ffn)) return std::nullopt;
    return unaligned(kind.ffn.intermediate, dense_width(f.model, f.config), kind.formats.dense_ffn->block_columns);
  });
}

Finding fp8_block_shared(const RuleFacts& f) {
  return first_broken(f, [&f](const LayerKind& kind) -> Finding {
    if (kind.ffn.kind != FfnKind::kMoe || !is_fp8_block(kind.formats.shared_experts)) return std::nullopt;
    return unaligned(kind.ffn.shared_intermediate, shared_width(f.model, f.config),
                     kind.formats.shared_experts->block_columns);
  });
}

// Inputs of o_proj, split by heads.
Finding fp8_block_attention(const RuleFacts& f) {
  return first_broken(f, [&f](const LayerKind& kind) -> Finding {
    const NumberFormat* format = kind.formats.attention_output;
    if (!is_fp8_block(format)) return std::nullopt;
    return unaligned(kind.attention.q_heads * kind.attention.v_head_dim, f.config.tp, format->block_columns);
  });
}

Finding marlin_dense(const RuleFacts& f) {
  return first_broken(f, [&f](const LayerKind& kind) -> Finding {
    if (kind.ffn.kind != FfnKind::kDense || !is_group_int4(kind.formats.dense_ffn)) return std::nullopt;
    return unaligned(kind.ffn.intermediate, dense_width(f.model, f.config), marlin_tile(*kind.formats.dense_ffn));
  });
}

Finding marlin_experts(const RuleFacts& f) {
  return first_broken(f, [&f](const LayerKind& kind) -> Finding {
    if (kind.ffn.kind != FfnKind::kMoe || !is_group_int4(kind.formats.experts)) return std::nullopt;
    return unaligned(kind.ffn.intermediate, f.config.moe_tp, marlin_tile(*kind.formats.experts));
  });
}

bool is_one_of(std::string_view name, const std::vector<std::string_view>& names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace shardplan
