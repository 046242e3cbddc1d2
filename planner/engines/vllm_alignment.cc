// Alignment of quantised shards in vLLM: a shard boundary may not cut a scale block or a kernel's tile.
//
// FP8 with 128x128 blocks: a row-parallel shard's inputs % 128 == 0, each part of a merged column split % 128 == 0,
// an expert's intermediate per rank % 128 == 0 (checked at any tp, so also for whole experts).
// GPTQ/AWQ by Marlin: inputs per rank % 128 == 0 and % group == 0, outputs per rank % 64 == 0.
// Sources: validate_fp8_block_shape and create_weights of vLLM main; issues 25292, 39046, 54178, 9913.
#include <algorithm>

#include "planner/engines/engines.h"

namespace shardplan {
namespace {

using Finding = std::optional<std::int64_t>;

bool is_fp8_block(const NumberFormat* format) {
  return format != nullptr && format->bits == 8 && format->block_rows > 1 && format->block_columns > 1;
}

bool is_group_int4(const NumberFormat* format) {
  return format != nullptr && format->weight_only && format->bits == 4 && format->name.starts_with("int4");
}

// The first per-rank width over the layer kinds that `broken` finds, nothing when all are aligned.
template <class Broken>
Finding first_broken(const RuleFacts& f, Broken broken) {
  for (const LayerKind& kind : f.model.kinds) {
    if (const Finding found = broken(kind)) return found;
  }
  return std::nullopt;
}

Finding unaligned(std::int64_t size, std::int64_t parts, std::int64_t block) {
  if (size == 0 || size % parts != 0) return std::nullopt;  // the algebra's rules say so already
  return size / parts % block == 0 ? std::nullopt : Finding(size / parts);
}

Finding fp8_experts(const RuleFacts& f) {
  return first_broken(f, [&f](const LayerKind& kind) -> Finding {
    if (kind.ffn.kind != FfnKind::kMoe || !is_fp8_block(kind.formats.experts)) return std::nullopt;
    return unaligned(kind.ffn.intermediate, f.config.moe_tp, kind.formats.experts->block_rows);
  });
}

Finding fp8_dense(const RuleFacts& f) {
  return first_broken(f, [&f](const LayerKind& kind) -> Finding {
    if (kind.ffn.kind != FfnKind::kDense || !is_fp8_block(kind.formats.dense_ffn)) return std::nullopt;
    return unaligned(kind.ffn.intermediate, f.config.tp, kind.formats.dense_ffn->block_columns);
  });
}

Finding fp8_shared(const RuleFacts& f) {
  return first_broken(f, [&f](const LayerKind& kind) -> Finding {
    if (kind.ffn.kind != FfnKind::kMoe || !is_fp8_block(kind.formats.shared_experts)) return std::nullopt;
    return unaligned(kind.ffn.shared_intermediate, f.config.tp, kind.formats.shared_experts->block_columns);
  });
}

// Inputs of o_proj, split by heads.
Finding fp8_attention_output(const RuleFacts& f) {
  return first_broken(f, [&f](const LayerKind& kind) -> Finding {
    const NumberFormat* format = kind.formats.attention_output;
    if (!is_fp8_block(format)) return std::nullopt;
    return unaligned(kind.attention.q_heads * kind.attention.v_head_dim, f.config.tp, format->block_columns);
  });
}

Finding marlin_dense(const RuleFacts& f) {
  return first_broken(f, [&f](const LayerKind& kind) -> Finding {
    if (kind.ffn.kind != FfnKind::kDense || !is_group_int4(kind.formats.dense_ffn)) return std::nullopt;
    const std::int64_t group = std::max<std::int64_t>(128, kind.formats.dense_ffn->block_columns);
    return unaligned(kind.ffn.intermediate, f.config.tp, group);
  });
}

Finding marlin_experts(const RuleFacts& f) {
  return first_broken(f, [&f](const LayerKind& kind) -> Finding {
    if (kind.ffn.kind != FfnKind::kMoe || !is_group_int4(kind.formats.experts)) return std::nullopt;
    return unaligned(kind.ffn.intermediate, f.config.moe_tp,
                     std::max<std::int64_t>(128, kind.formats.experts->block_columns));
  });
}

}  // namespace

std::vector<EngineRule> vllm_alignment_rules() {
  return {
      {"vllm_fp8_block_experts",
       {},
       Severity::kError,
       "The output_size of gate's and up's weight = {value} is not divisible by weight quantization block_n = 128 "
       "(experts sliced moe_tp {moe_tp} ways; -ep keeps them whole)",
       fp8_experts},
      {"vllm_fp8_block_dense",
       {},
       Severity::kError,
       "The input_size of down's weight = {value} is not divisible by weight quantization block_k = 128 (dense layers "
       "at tp {tp})",
       fp8_dense},
      {"vllm_fp8_block_shared",
       {},
       Severity::kError,
       "The input_size of down's weight = {value} is not divisible by weight quantization block_k = 128 (shared "
       "experts at tp {tp})",
       fp8_shared},
      {"vllm_fp8_block_attention",
       {},
       Severity::kError,
       "the input of o_proj per rank = {value} is not divisible by weight quantization block_k = 128 (tp {tp})",
       fp8_attention_output},
      {"vllm_marlin_dense",
       {},
       Severity::kError,
       "the input of down per rank = {value} is not divisible by Marlin's 128 (dense layers at tp {tp})",
       marlin_dense},
      {"vllm_marlin_experts",
       {},
       Severity::kError,
       "an expert's width per rank = {value} is not divisible by Marlin's 128 (moe_tp {moe_tp})",
       marlin_experts},
  };
}

}  // namespace shardplan
