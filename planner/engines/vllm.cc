// vLLM, V1 engine: what is peculiar about it.
//
// World = dp x pp x pcp x tp, tp fastest. A MoE's experts live on dp x pcp x tp ranks, whole (-ep) or sliced: the EP
// size is not a flag. For a dense model dp ranks are separate engines. dcp adds no GPU: it takes ranks of tp. Decode
// and prefill share steps under one token budget; only decode-only steps run as one captured graph, so a step with
// prefill is never shorter than its launches. gpu-memory-utilization is a fraction of the device's total memory and
// covers weights, activations, graphs, NCCL and cache; all stages take the least number of cache blocks.
// Sources: engine rules of vLLM main around 0.30; start-up logs of 0.19 on H100; fits on published serving rows.
// Wrong where a release changed a default: values are exported explicitly for that reason.
#include <algorithm>

#include "planner/engines/engines.h"

namespace shardplan {
namespace {

constexpr Bytes kLargeGpu{160 * kGiB};
constexpr Bytes kServerGpu{70 * kGiB};

// base = n/p; one more for the stages before the last: for i in 2..rem+1: parts[-i] += 1.
std::vector<std::int64_t> layer_split(std::int64_t layers, std::int64_t stages) {
  std::vector<std::int64_t> parts(static_cast<std::size_t>(stages), layers / stages);
  for (std::int64_t i = 2; i <= layers % stages + 1; ++i) ++parts[static_cast<std::size_t>(stages - i)];
  return parts;
}

// Non-torch memory 0.25 GiB alone, about 2.1 GiB with NCCL, custom all-reduce and fused-kernel workspaces.
EngineMemory memory(const ModelSpec& model, const ParallelConfig& config, const HardwareProfile&,
                    const std::string& version) {
  EngineMemory memory;
  memory.memory_fraction_ratio = parse_version(version) < Version{0, 30, 0} && !version.empty() ? 0.90 : 0.92;
  memory.block_size = attention_of(model).kind == AttentionKind::kLatent ? 64 : 16;  // FlashMLA wants 64
  memory.context = Bytes(256 * kMiB);
  memory.communicators = config.stage_ranks() > 1 ? Bytes(1900 * kMiB) : Bytes(72 * kMiB * (config.pp > 1 ? 1 : 0));
  memory.graphs = Bytes(768 * kMiB);  // 0.4 to 1.3 GB are usual
  return memory;
}

// get_batch_defaults for an API server; A100 counts as a small GPU whatever its memory.
SchedulerDefaults scheduler(const ModelSpec&, const ParallelConfig&, const HardwareProfile& hardware) {
  const bool a100 = hardware.device.name.find("A100") != std::string::npos || hardware.device.architecture == "ampere";
  if (hardware.device.memory >= kLargeGpu) return {16384, 1024, true};
  if (hardware.device.memory >= kServerGpu && !a100) return {8192, 1024, true};
  return {2048, 256, true};
}

}  // namespace

Engine vllm_engine() {
  return {.name = "vllm",
          .help = "vLLM V1 (rules of 0.19 to 0.30)",
          .default_version = "0.30",
          .rules = vllm_rules,
          .layer_split = layer_split,
          .memory = memory,
          .scheduler = scheduler,
          .exports = true};
}

}  // namespace shardplan
