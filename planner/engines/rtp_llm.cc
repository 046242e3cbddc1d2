// RTP-LLM: what is peculiar about it.
//
// World = dp x tp, tp fastest; no pipeline. ep_size is 0 (all ranks), 1 (slices, without dp) or the world. Prompts are
// computed whole, one at a time beside the decodes (max_context_batch_size 1, no chunks). Memory has no fraction: what
// is left after weights and warm-up, less a reserve (reserver_runtime_mem_mb), is cache; the launch pins it
// (kv_cache_mem_mb), so that what was planned is what is allocated. Blocks hold 64 tokens.
// Source: engine rules of RTP-LLM of August 2026 (0.2). Its host path has not been fitted: vLLM's terms stand in.
#include <algorithm>

#include "costmodel/stages.h"
#include "planner/engines/engines.h"

namespace shardplan {
namespace {

EngineMemory memory(const ModelSpec&, const ParallelConfig& config, const HardwareProfile&, const std::string&) {
  EngineMemory memory;
  memory.fraction_of = FractionOf::kDevice;
  memory.memory_fraction_ratio = 1;
  memory.block_size = 64;
  memory.context = Bytes(512 * kMiB);
  memory.communicators = config.instance_gpus() > 1 ? Bytes(1536 * kMiB) : Bytes(0);
  memory.graphs = Bytes((kRtpRuntimeReserveMib + 512) * kMiB);  // the reserve, and captured graphs
  return memory;
}

SchedulerDefaults scheduler(const ModelSpec&, const ParallelConfig&, const HardwareProfile&) {
  return {8192, 256, false};
}

}  // namespace

Engine rtp_llm_engine() {
  Engine engine = vllm_engine();
  engine.name = "rtp-llm";
  engine.help = "RTP-LLM (rules of 0.2)";
  engine.default_version = engine.oldest_version = engine.newest_version = "0.2";
  engine.rules = rtp_llm_rules;
  engine.layer_split = even_layer_split;
  engine.memory = memory;
  engine.scheduler = scheduler;
  engine.device_order = DeviceOrder::kStageMajor;
  engine.symmetric_from_ranks = 0;
  engine.releases = {};
  return engine;
}

}  // namespace shardplan
