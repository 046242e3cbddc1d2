// vLLM's flags (main around 0.30); what launch files do not need is left out.
#include <iterator>

#include "planner/export/exporters.h"

namespace shardplan {

namespace {

using enum FlagKind;

constexpr FlagRow kFlags[] = {
    {"--host", kText},
    {"--port", kCount, "", 1, 65535},
    {"--tensor-parallel-size", kCount, "", 1, 1024},
    {"--pipeline-parallel-size", kCount, "", 1, 1024},
    {"--prefill-context-parallel-size", kCount, "", 1, 1024, {"0.20", ""}},
    {"--decode-context-parallel-size", kCount, "", 1, 1024},
    {"--dcp-comm-backend", kChoice, "ag_rs a2a"},
    {"--dcp-q-replicate", kSwitch},
    {"--no-dcp-q-replicate", kSwitch},
    {"--cp-kv-cache-interleave-size", kCount, "", 1, 4096},
    {"--data-parallel-size", kCount, "", 1, 4096},
    {"--data-parallel-size-local", kCount, "", 0, 4096},
    {"--data-parallel-start-rank", kCount, "", 0, 4096},
    {"--data-parallel-address", kText},
    {"--data-parallel-rpc-port", kCount, "", 1, 65535},
    {"--data-parallel-backend", kChoice, "mp ray"},
    {"--nnodes", kCount, "", 1, 4096},
    {"--node-rank", kCount, "", 0, 4096},
    {"--master-addr", kText},
    {"--master-port", kCount, "", 1, 65535},
    {"--headless", kSwitch},
    {"--distributed-executor-backend", kChoice, "mp ray uni external_launcher"},
    {"--disable-custom-all-reduce", kSwitch},
    {"--enable-expert-parallel", kSwitch},
    {"--all2all-backend", kChoice,
     "allgather_reducescatter deepep_high_throughput deepep_low_latency deepep_v2 mori_high_throughput "
     "mori_low_latency "
     "nixl_ep flashinfer_nvlink_two_sided flashinfer_nvlink_one_sided moonep"},
    {"--enable-eplb", kSwitch},
    {"--eplb-config", kJson},
    {"--enable-elastic-ep", kSwitch},
    {"--expert-placement-strategy", kChoice, "linear round_robin"},
    {"--enable-dbo", kSwitch},
    {"--dbo-decode-token-threshold", kCount},
    {"--dbo-prefill-token-threshold", kCount},
    {"--speculative-config", kJson},
    {"--gpu-memory-utilization", kRatio},
    {"--kv-cache-memory-bytes", kCount, "", 1, 1'000'000'000'000},
    {"--mm-encoder-tp-mode", kChoice, "weights data"},
    {"--kv-cache-dtype", kChoice,
     "auto float16 bfloat16 fp8 fp8_e4m3 fp8_e5m2 fp8_inc fp8_ds_mla nvfp4_ds_mla nvfp4 nvfp4_4over6"},
    {"--block-size", kCount, "", 1, 4096},
    {"--dtype", kChoice, "auto float16 bfloat16 float32"},
    {"--quantization", kChoice, "fp8"},
    {"--max-model-len", kCount, "", 1},
    {"--max-num-seqs", kCount, "", 1},
    {"--max-num-batched-tokens", kCount, "", 1},
    {"--enable-chunked-prefill", kSwitch},
    {"--enable-prefix-caching", kSwitch},
    {"--trust-remote-code", kSwitch},
    {"--kv-transfer-config", kJson},
    {"VLLM_NIXL_SIDE_CHANNEL_HOST", kText, "", 0, 0, {}, FlagPlace::kEnvironment},
    {"VLLM_NIXL_SIDE_CHANNEL_PORT", kCount, "", 1, 65535, {}, FlagPlace::kEnvironment},
    {"VLLM_USE_NCCL_SYMM_MEM", kCount, "", 0, 1, {}, FlagPlace::kEnvironment},
    {"NCCL_NVLS_ENABLE", kCount, "", 0, 2, {}, FlagPlace::kEnvironment},
    {"NCCL_CUMEM_ENABLE", kCount, "", 0, 1, {}, FlagPlace::kEnvironment},
    {"VLLM_PP_LAYER_PARTITION", kCounts, "", 1, 10'000, {}, FlagPlace::kEnvironment},
};

}  // namespace

const std::vector<FlagRow>& vllm_flags() {
  static const std::vector<FlagRow> rows(std::begin(kFlags), std::end(kFlags));
  return rows;
}

}  // namespace shardplan
