// vLLM, V1 engine: what is peculiar about it.
//
// World = dp x pp x pcp x tp, tp fastest. A MoE's experts live on dp x pcp x tp ranks, whole (-ep) or sliced: the EP
// size is not a flag. For a dense model dp ranks are separate engines. dcp adds no GPU: it takes ranks of tp. Decode
// and prefill share steps under one token budget; only decode-only steps run as one captured graph, so a step with
// prefill is never shorter than its launches. gpu-memory-utilization is a fraction of the device's total memory and
// covers weights, activations, graphs, NCCL and cache; all stages take the least number of cache blocks.
// Sources: engine rules of vLLM main around 0.30; start-up logs of 0.19 on H100; fits on published serving rows.
// Wrong where a release changed a default: values are exported explicitly for that reason.
#include <array>

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

// What holds over a range of releases; sources: start-up logs of each range on H100, and the engine's allocation code.
struct MemoryEra {
  VersionRange versions;
  Bytes alone;           // one process: CUDA context and modules beside torch
  Bytes worker;          // a rank among several processes
  Bytes pair;            // what NCCL, custom and fused all-reduce take at tp 2
  Bytes per_peer;        // for each further rank of a tensor group
  double sampler_bytes;  // of a logit, beside its fp32 value and its copy in the model's format
  bool sampler_per_sm;   // top-k and top-p in one kernel: a scratch row of fp32 for each SM
  bool graphs_inside;    // captured graphs are estimated and kept out of the cache
  PrintedTokens printed;
  double fraction;
};

constexpr double kSortedCopies = 32;  // sort keys, values and indices twice over, probabilities, draws
constexpr double kOneKernel = 8;      // probabilities and draws

const std::array<MemoryEra, 5>& memory_eras() {
  using enum PrintedTokens;
  static const std::array<MemoryEra, 5> eras{{
      {{"", "0.17"},
       Bytes(138 * kMiB),
       Bytes(138 * kMiB),
       Bytes(420 * kMiB),
       Bytes(30 * kMiB),
       kSortedCopies,
       false,
       false,
       kPagesOverGroups,
       0.90},
      {{"0.17", "0.19"},
       Bytes(143 * kMiB),
       Bytes(143 * kMiB),
       Bytes(420 * kMiB),
       Bytes(30 * kMiB),
       kOneKernel,
       true,
       false,
       kPagesOverGroups,
       0.90},
      {{"0.19", "0.21"},
       Bytes(256 * kMiB),
       Bytes(72 * kMiB),
       Bytes(2050 * kMiB),
       Bytes(30 * kMiB),
       kOneKernel,
       true,
       false,
       kPagesOverGroups,
       0.90},
      {{"0.21", "0.30"},
       Bytes(256 * kMiB),
       Bytes(72 * kMiB),
       Bytes(2050 * kMiB),
       Bytes(30 * kMiB),
       kOneKernel,
       true,
       true,
       kWholeRequests,
       0.90},
      {{"0.30", ""},
       Bytes(256 * kMiB),
       Bytes(72 * kMiB),
       Bytes(2050 * kMiB),
       Bytes(30 * kMiB),
       kOneKernel,
       true,
       true,
       kWholeRequests,
       0.92},
  }};
  return eras;
}

const MemoryEra& memory_era(const std::string& version) {
  for (const MemoryEra& era : memory_eras()) {
    if (era.versions.contains(version)) return era;
  }
  return memory_eras().back();
}

// MXFP4 experts: what the kernels want of columns (64 until 0.17; TensorRT-LLM's on Blackwell 256).
std::vector<WeightPadding> padding(const HardwareProfile& hardware, const std::string& version) {
  if (hardware.device.architecture == "blackwell") return {{"mxfp4", 256, 256, 256}};
  if (VersionRange{"", "0.17"}.contains(version)) return {{"mxfp4", 256, 64, 64}};
  return {{"mxfp4", 256, 128, 64}};
}

// The profiling run: a forward of the largest step, then sampling of every seat. Pieces of the compiled graph between
// attentions hold what they read; workspaces of fused experts stay.
StepBuffers step_buffers(const MemoryEra& era, const HardwareProfile& hardware) {
  return {.library = Bytes(44 * kMiB),    // cuBLAS takes 32 MiB on Hopper; ids, positions, block tables
          .benchmark = Bytes(50 * kMiB),  // as large as the L2 cache, to flush it between timings
          .sampler_bytes_per_logit = era.sampler_bytes,
          .copies_logits = true,
          .sampler_rows = era.sampler_per_sm ? hardware.device.sm_count : 0,
          .holds_inputs = true,
          .keeps_expert_buffers = true,
          .expert_chunk = 16384,  // VLLM_FUSED_MOE_CHUNK_SIZE
          .keeps_stage_inputs = true,
          .keeps_embedded = true,
          .keeps_images = true};
}

EngineMemory memory(const ModelSpec& model, const ParallelConfig& config, const HardwareProfile& hardware,
                    const std::string& version) {
  const MemoryEra& era = memory_era(version.empty() ? "0.30" : version);
  EngineMemory memory;
  memory.memory_fraction_ratio = era.fraction;
  memory.block_size = attention_of(model).kind == AttentionKind::kLatent ? 64 : 16;  // FlashMLA wants 64
  memory.context = config.instance_gpus() > 1 ? era.worker : era.alone;
  if (config.stage_ranks() > 1)
    memory.communicators = era.pair + Bytes(era.per_peer.value() * (config.stage_ranks() - 2));
  else
    memory.communicators = Bytes(0);
  memory.graphs = era.graphs_inside ? Bytes(390 * kMiB) : Bytes(0);
  memory.graphs_per_layer = era.graphs_inside ? Bytes(17 * kMiB) : Bytes(0);
  memory.step = step_buffers(era, hardware);
  memory.padding = padding(hardware, version);
  memory.rotary_tables = true;
  memory.absorbed_copies = true;
  memory.allocation_step = Bytes(2 * kMiB);  // of torch's caching allocator
  memory.vision_tower = true;
  memory.shares_pages = true;
  memory.printed = era.printed;
  return memory;
}

// get_batch_defaults for an API server; A100 counts as a small GPU whatever its memory.
SchedulerDefaults scheduler(const ModelSpec&, const ParallelConfig&, const HardwareProfile& hardware) {
  const bool a100 = hardware.device.name.find("A100") != std::string::npos || hardware.device.architecture == "ampere";
  if (hardware.device.memory >= kLargeGpu) return {16384, 1024, true};
  if (hardware.device.memory >= kServerGpu && !a100) return {8192, 1024, true};
  return {2048, 256, true};
}

// FlashInfer's TensorRT-LLM kernels come first among backends of NVFP4 experts.
std::vector<std::string> kernel_libraries(const std::string& version) {
  return with_generated_experts(version.empty() || !VersionRange{"", "0.15"}.contains(version));
}

// FlashInfer's one kernel of all-reduce, residual and norm, which a pass of the compiler puts in by default from 0.16 on (beside
// attention data parallelism from 0.21 on); on Blackwell recipes asked for it since it exists. MiB by ranks as vLLM's table of
// sizes has them.
FusedAllReduce fused_all_reduce(const ModelSpec&, const ParallelConfig& config, const HardwareProfile& hardware, const std::string& version) {
  const char* since = config.dpa > 1 ? "0.21" : hardware.device.architecture == "hopper" ? "0.16" : "0.10.2";
  if (config.tp == 1 || (!version.empty() && VersionRange{"", since}.contains(version))) return {};
  const auto mib = [](std::int64_t ranks, double size) { return FusedAllReduce::Limit{ranks, size * static_cast<double>(kMiB)}; };
  const std::string& architecture = hardware.device.architecture;
  if (architecture == "hopper") return {{mib(2, 64), mib(4, 2), mib(8, 0.5)}};
  if (architecture == "blackwell") return {{mib(2, 64), mib(4, 32), mib(8, 1), mib(16, 64)}};
  if (architecture == "blackwell-ultra") return {{mib(2, 64), mib(4, 64), mib(8, 4), mib(16, 64)}};
  return {};
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
          .exports = true,
          .device_order = DeviceOrder::kGroupMajor,
          .kernel_libraries = kernel_libraries,
          .fused_all_reduce = fused_all_reduce,
          .symmetric_from_ranks = 4,   // smaller groups keep to its own kernels
          .releases = {{"2025-09", "0.10.2"}, {"2025-12", "0.12"}, {"2026-01", "0.14"}, {"2026-02", "0.15"}, {"2026-03", "0.17"}, {"2026-04", "0.19"}},
          .oldest_version = "0.19",
          .newest_version = "0.31"};
}

}  // namespace shardplan
