// TensorRT-LLM, PyTorch backend: what is peculiar about it.
//
// World = pp x tp x cp with cp fastest. Attention DP has no size of its own: it makes every rank of tp an attention
// group (dpa = tensor_parallel_size, attention weights on each). Experts use the same ranks as moe_tp x moe_ep with
// moe_ep innermost, so a group of ep is contiguous: the opposite of SGLang. Helix is context parallelism of the
// generation server of a disaggregated deployment; its ranks are tensor parallel for the FFN. free_gpu_memory_fraction
// is a share of what weights and activations leave; graphs are captured after, outside it. Seats (max_batch_size) and
// budget (max_num_tokens) are per rank under attention DP. Admission reserves the whole output (GUARANTEED_NO_EVICT).
// Source: engine rules of TensorRT-LLM main of September 2026 (1.3). Wrong where a model overrides a width of its own.
#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "planner/engines/engines.h"

namespace shardplan {
namespace {

// torch.tensor_split: the first stages take the rest.
std::vector<std::int64_t> layer_split(std::int64_t layers, std::int64_t stages) {
  std::vector<std::int64_t> parts(static_cast<std::size_t>(stages), layers / stages);
  for (std::int64_t i = 0; i < layers % stages; ++i) ++parts[static_cast<std::size_t>(i)];
  return parts;
}

EngineMemory memory(const ModelSpec&, const ParallelConfig& config, const HardwareProfile&, const std::string&) {
  EngineMemory memory;
  memory.fraction_of = FractionOf::kLeft;
  memory.memory_fraction_ratio = 0.9;
  memory.block_size = 32;
  memory.context = Bytes(512 * kMiB);
  memory.communicators = config.instance_gpus() > 1 ? Bytes(1536 * kMiB) : Bytes(0);
  memory.graphs = Bytes(1024 * kMiB);  // at most 200 MB each, of a handful of batch sizes
  return memory;
}

SchedulerDefaults scheduler(const ModelSpec&, const ParallelConfig&, const HardwareProfile&) {
  return {.max_batched_tokens = 8192, .max_sequences = 2048, .chunked_prefill = true, .reserves_output = true};
}

ParallelConfig settle(const ModelSpec&, ParallelConfig config) {
  config.variant.ep_inner = config.ep > 1 && config.moe_tp > 1;
  return config;
}

struct Container {
  std::string_view tag;
  const char* release;
};
// Dynamo's containers of TensorRT-LLM, by the beginnings of their tags. TensorRT-LLM's own 0.x are older than any rule here;
// its candidates are called rc, never dev. Source: Dynamo's support matrix.
constexpr std::array kContainers{Container{"0.5.", "1.1.0rc5"}, Container{"0.6.", "1.1.0rc5"},      Container{"0.7.", "1.2.0rc3"},      Container{"0.8.", "1.2.0rc6"},
                                 Container{"0.9.", "1.3.0rc1"}, Container{"1.0.0-dev", "1.3.0rc5"}, Container{"1.1.0-dev", "1.3.0rc11"}};

std::string release_inside(const std::string& tag) {
  const auto found = std::find_if(kContainers.begin(), kContainers.end(), [&](const Container& c) { return tag.starts_with(c.tag); });
  return found == kContainers.end() ? "" : found->release;
}

// Its own products and all-reduces; the TRTLLM backend of NVFP4 experts.
std::vector<std::string> kernel_libraries(const std::string& version) {
  return with_generated_experts(version.empty() || !VersionRange{"", "1.2"}.contains(version), {"trtllm"});
}

// Its own kernel of all-reduce, residual and norm, while the message fits the kernel's workspace.
FusedAllReduce fused_all_reduce(const ModelSpec&, const ParallelConfig& config, const HardwareProfile&, const std::string&) {
  if (config.tp == 1 || config.dpa > 1) return {};
  return {{{2, 16e6}, {4, 8e6}, {8, 8e6}}};
}

}  // namespace

Engine trtllm_engine() {
  return {.name = "trtllm",
          .help = "TensorRT-LLM, PyTorch backend (rules of 1.2 to 1.3)",
          .default_version = "1.3",
          .rules = trtllm_rules,
          .layer_split = layer_split,
          .memory = memory,
          .scheduler = scheduler,
          .exports = true,
          .settle = settle,
          .kernel_libraries = kernel_libraries,
          .fused_all_reduce = fused_all_reduce,
          .symmetric_from_ranks = 2,
          .release_inside = release_inside,
          .releases = {{"2025-07", "1.0"}, {"2025-09", "1.1"}, {"2025-12", "1.2"}, {"2026-02", "1.3"}},
          .oldest_version = "1.2",
          .newest_version = "1.3"};
}

}  // namespace shardplan
