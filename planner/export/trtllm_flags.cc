// TensorRT-LLM's keys (PyTorch backend of 1.3) and the few flags beside them.
#include <iterator>

#include "planner/export/exporters.h"

namespace shardplan {

namespace {

using enum FlagKind;
constexpr FlagPlace kYaml = FlagPlace::kConfig;

constexpr FlagRow kFlags[] = {
    {"--host", kText},
    {"--port", kCount, "", 1, 65535},
    {"--backend", kChoice, "pytorch"},
    {"--config", kText},
    {"TRTLLM_FORCE_COMM_METHOD",
     kChoice,
     "ALLGATHER NVLINK_ONE_SIDED NVLINK_TWO_SIDED NCCL_EP DEEPEP DEEPEPLOWLATENCY",
     0,
     0,
     {},
     FlagPlace::kEnvironment},
    {"tensor_parallel_size", kCount, "", 1, 4096, {}, kYaml},
    {"pipeline_parallel_size", kCount, "", 1, 1024, {}, kYaml},
    {"context_parallel_size", kCount, "", 1, 1024, {}, kYaml},
    {"gpus_per_node", kCount, "", 1, 72, {}, kYaml},
    {"cp_config.cp_type", kChoice, "ULYSSES STAR RING HELIX", 0, 0, {}, kYaml},
    {"cp_config.tokens_per_block", kCount, "", 1, 4096, {}, kYaml},
    {"enable_attention_dp", kChoice, "true false", 0, 0, {}, kYaml},
    {"moe_tensor_parallel_size", kCount, "", 1, 4096, {}, kYaml},
    {"moe_expert_parallel_size", kCount, "", 1, 4096, {}, kYaml},
    {"moe_config.backend",
     kChoice,
     "AUTO CUTLASS CUTEDSL WIDEEP TRTLLM DEEPGEMM DENSEGEMM VANILLA TRITON MARLIN MEGAMOE_DEEPGEMM",
     0,
     0,
     {},
     kYaml},
    {"moe_config.load_balancer.num_slots", kCount, "", 1, 100'000, {}, kYaml},
    {"moe_config.load_balancer.layer_updates_per_iter", kCount, "", 0, 1000, {}, kYaml},
    {"speculative_config.decoding_type", kChoice, "MTP", 0, 0, {}, kYaml},
    {"speculative_config.num_nextn_predict_layers", kCount, "", 1, 16, {}, kYaml},
    {"max_batch_size", kCount, "", 1, 1'000'000, {}, kYaml},
    {"max_num_tokens", kCount, "", 1, 100'000'000, {}, kYaml},
    {"max_seq_len", kCount, "", 1, 100'000'000, {}, kYaml},
    {"max_beam_width", kCount, "", 1, 1024, {}, kYaml},
    {"enable_chunked_prefill", kChoice, "true false", 0, 0, {}, kYaml},
    {"kv_cache_config.free_gpu_memory_fraction", kRatio, "", 0, 0, {}, kYaml},
    {"kv_cache_config.tokens_per_block", kCount, "", 1, 4096, {}, kYaml},
    {"kv_cache_config.dtype", kChoice, "auto fp8 nvfp4", 0, 0, {}, kYaml},
    {"kv_cache_config.enable_block_reuse", kChoice, "true false", 0, 0, {}, kYaml},
    {"cuda_graph_config.enable_padding", kChoice, "true false", 0, 0, {}, kYaml},
    {"cuda_graph_config.max_batch_size", kCount, "", 0, 1'000'000, {}, kYaml},
    {"cache_transceiver_config.backend", kChoice, "DEFAULT UCX NIXL MPI", 0, 0, {}, kYaml},
    {"cache_transceiver_config.max_tokens_in_buffer", kCount, "", 1, 100'000'000, {}, kYaml},
    {"disable_overlap_scheduler", kChoice, "true false", 0, 0, {}, kYaml},
    {"scheduler_config.capacity_scheduler_policy",
     kChoice,
     "GUARANTEED_NO_EVICT MAX_UTILIZATION STATIC_BATCH",
     0,
     0,
     {},
     kYaml},
    {"allreduce_strategy", kChoice, "AUTO NCCL UB MINLATENCY ONESHOT TWOSHOT LOWPRECISION MNNVL NCCL_SYMMETRIC", 0, 0, {}, kYaml},
    {"pp_partition", kCounts, "", 1, 10'000, {}, kYaml},
};

}  // namespace

const std::vector<FlagRow>& trtllm_flags() {
  static const std::vector<FlagRow> rows(std::begin(kFlags), std::end(kFlags));
  return rows;
}

}  // namespace shardplan
