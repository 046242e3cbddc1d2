// Alignment of quantised shards in vLLM: a shard boundary may not cut a scale block or a kernel's tile.
//
// FP8 with 128x128 blocks: a row-parallel shard's inputs % 128 == 0, each part of a merged column split % 128 == 0,
// an expert's intermediate per rank % 128 == 0 (checked at any tp, so also for whole experts).
// GPTQ/AWQ by Marlin: inputs per rank % 128 == 0 and % group == 0, outputs per rank % 64 == 0.
// Sources: validate_fp8_block_shape and create_weights of vLLM main; issues 25292, 39046, 54178, 9913.
#include "planner/engines/engines.h"
#include "planner/engines/findings.h"

namespace shardplan {

std::vector<EngineRule> vllm_alignment_rules() {
  return {
      {"vllm_fp8_block_experts",
       {},
       Severity::kError,
       "The output_size of gate's and up's weight = {value} is not divisible by weight quantization block_n = 128 "
       "(experts sliced moe_tp {moe_tp} ways; -ep keeps them whole)",
       fp8_block_experts},
      {"vllm_fp8_block_dense",
       {},
       Severity::kError,
       "The input_size of down's weight = {value} is not divisible by weight quantization block_k = 128 (dense layers "
       "at tp {tp})",
       fp8_block_dense},
      {"vllm_fp8_block_shared",
       {},
       Severity::kError,
       "The input_size of down's weight = {value} is not divisible by weight quantization block_k = 128 (shared "
       "experts at tp {tp})",
       fp8_block_shared},
      {"vllm_fp8_block_attention",
       {},
       Severity::kError,
       "the input of o_proj per rank = {value} is not divisible by weight quantization block_k = 128 (tp {tp})",
       fp8_block_attention},
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
