// RTP-LLM's flags (0.2); each is an environment variable in capitals as well.
#include <iterator>

#include "planner/export/exporters.h"

namespace shardplan {

namespace {

using enum FlagKind;

constexpr FlagRow kFlags[] = {
    {"--checkpoint_path", kText},
    {"--model_type", kText},
    {"--start_port", kCount, "", 1, 65535},
    {"--tp_size", kCount, "", 1, 4096},
    {"--dp_size", kCount, "", 1, 4096},
    {"--ep_size", kCount, "", 0, 4096},
    {"--world_size", kCount, "", 1, 4096},
    {"--world_rank", kCount, "", 0, 4096},
    {"--local_world_size", kCount, "", 1, 72},
    {"--use_all_gather", kCount, "", 0, 1},
    {"--use_deepep_moe", kCount, "", 0, 1},
    {"--use_deepep_low_latency", kCount, "", 0, 1},
    {"--use_deepep_internode", kCount, "", 0, 1},
    {"--redundant_expert", kCount, "", 0, 4096},
    {"--eplb_mode", kChoice, "NONE STATS EPLB ALL"},
    {"--sp_type", kChoice, "none mtp eagle"},
    {"--sp_model_type", kText},
    {"--sp_checkpoint_path", kText},
    {"--gen_num_per_cycle", kCount, "", 1, 16},
    {"--max_seq_len", kCount, "", 1},
    {"--concurrency_limit", kCount, "", 1},
    {"--max_batch_size", kCount, "", 1},
    {"--max_context_batch_size", kCount, "", 1},
    {"--seq_size_per_block", kCount, "", 1, 4096},
    {"--reserver_runtime_mem_mb", kCount, "", 0},
    {"--kv_cache_mem_mb", kCount, "", -1},
    {"--fp8_kv_cache", kCount, "", 0, 1},
    {"--act_type", kChoice, "bf16 fp16 fp32"},
    {"--reuse_cache", kCount, "", 0, 1},
    {"--quantization", kChoice, "FP8"},
    {"LEADER_ADDRESS", kText, "", 0, 0, {}, FlagPlace::kEnvironment},
};

}  // namespace

const std::vector<FlagRow>& rtp_llm_flags() {
  static const std::vector<FlagRow> rows(std::begin(kFlags), std::end(kFlags));
  return rows;
}

}  // namespace shardplan
