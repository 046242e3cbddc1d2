// SGLang's flags (around 0.5.20); what launch files do not need is left out.
#include <iterator>

#include "planner/export/exporters.h"

namespace shardplan {

namespace {

using enum FlagKind;

constexpr FlagRow kFlags[] = {
    {"--model-path", kText},
    {"--host", kText},
    {"--port", kCount, "", 1, 65535},
    {"--tp-size", kCount, "", 1, 4096},
    {"--pp-size", kCount, "", 1, 1024},
    {"--dp-size", kCount, "", 1, 4096},
    {"--enable-dp-attention", kSwitch},
    {"--enable-dp-lm-head", kSwitch},
    {"--attn-cp-size", kCount, "", 1, 1024},
    {"--enable-prefill-cp", kSwitch},
    {"--cp-strategy", kChoice, "zigzag interleave"},
    {"--dcp-size", kCount, "", 1, 1024},
    {"--dcp-comm-backend", kChoice, "auto ag_rs a2a fi_a2a"},
    {"--dcp-replicate-q-proj", kSwitch},
    {"--ep-size", kCount, "", 1, 4096},
    {"--moe-dp-size", kCount, "", 1, 1024},
    {"--moe-dense-tp-size", kCount, "", 1, 1},
    {"--enable-shared-experts-attn-tp", kSwitch},
    {"--enable-dense-mlp-attn-tp", kSwitch},
    {"--moe-a2a-backend", kChoice,
     "none deepep deepep_v2 flashinfer flashinfer_megamoe pplx mori mooncake nixl megamoe"},
    {"--moe-runner-backend", kChoice,
     "auto deep_gemm triton triton_kernel flashinfer_trtllm flashinfer_cutlass flashinfer_mxfp4 flashinfer_cutedsl "
     "cutlass"},
    {"--deepep-mode", kChoice, "auto normal low_latency"},
    {"--elastic-ep-backend", kChoice, "none mooncake nixl"},
    {"--disable-cuda-graph", kSwitch},
    {"--load-balance-method", kChoice, "auto round_robin"},
    {"--enable-eplb", kSwitch},
    {"--ep-num-redundant-experts", kCount},
    {"--enable-two-batch-overlap", kSwitch},
    {"--enable-symm-mem", kSwitch},
    {"--enable-single-batch-overlap", kSwitch},
    {"--speculative-algorithm", kChoice, "EAGLE NEXTN"},
    {"--speculative-num-steps", kCount, "", 1, 16},
    {"--speculative-eagle-topk", kCount, "", 1, 1},
    {"--speculative-num-draft-tokens", kCount, "", 2, 17},
    {"--enable-multi-layer-eagle", kSwitch},
    {"--mem-fraction-static", kRatio},
    {"--max-running-requests", kCount, "", 1},
    {"--cuda-graph-max-bs", kCount, "", 1, 100'000, {"", "0.5.15"}},
    {"--cuda-graph-max-bs-decode", kCount, "", 1, 100'000, {"0.5.15", ""}},
    {"--chunked-prefill-size", kCount, "", 1},
    {"--max-prefill-tokens", kCount, "", 1},
    {"--enable-mixed-chunk", kSwitch},
    {"--page-size", kCount, "", 1, 4096},
    {"--context-length", kCount, "", 1},
    {"--kv-cache-dtype", kChoice, "auto bf16 bfloat16 fp8_e4m3 fp8_e5m2 fp4_e2m1"},
    {"--dtype", kChoice, "auto float16 bfloat16 float32"},
    {"--quantization", kChoice, "fp8"},
    {"--disable-radix-cache", kSwitch},
    {"--disable-custom-all-reduce", kSwitch},
    {"--nnodes", kCount, "", 1, 4096},
    {"--node-rank", kCount, "", 0, 4096},
    {"--dist-init-addr", kText},
    {"--disaggregation-mode", kChoice, "null prefill decode"},
    {"--disaggregation-transfer-backend", kChoice, "mooncake nixl ascend fake"},
    {"--disaggregation-bootstrap-port", kCount, "", 1, 65535},
    {"--trust-remote-code", kSwitch},
    {"SGLANG_PP_LAYER_PARTITION", kCounts, "", 1, 10'000, {}, FlagPlace::kEnvironment},
};

}  // namespace

const std::vector<FlagRow>& sglang_flags() {
  static const std::vector<FlagRow> rows(std::begin(kFlags), std::end(kFlags));
  return rows;
}

}  // namespace shardplan
