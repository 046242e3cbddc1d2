// SGLang: what is peculiar about it.
//
// --tp-size counts all GPUs of a pipeline stage; attention data parallelism (--dp-size with --enable-dp-attention) and
// prefill context parallelism (--attn-cp-size) divide it: attn_tp = tp/dp/cp. Experts use the same ranks as (moe_dp,
// ep, moe_tp) with moe_tp innermost, so a group of ep is strided. --max-running-requests and --chunked-prefill-size are
// global and divided by dp. Dense FFNs and shared experts run over the whole stage under attention DP, or whole on
// every rank (--moe-dense-tp-size 1). A step is all prefill or all decode.
//
// --mem-fraction-static is the share of the memory free at start that weights and cache take; activations and graphs
// live in the rest. Default, in MiB of a GPU with H MiB (chunk c, decode graphs up to b sequences, act = max(c, 2048)):
//   reserved = 512 + 1.5 act + tp*pp/8*1024 + graphs, at least 10240 above 60 GiB; + 2048 with DeepEP
//   graphs   = 2 b + [attention DP] (3 b dp, and 1.5 b dp more if b > 300) + [MLA, prefill graphs] 1536
//   fraction = round((H - reserved)/H, 3)
// Source: engine rules of SGLang around 0.5.20. Wrong where a release changed a default: every value is exported.
#include "planner/engines/sglang.h"

#include <algorithm>
#include <cmath>

#include "costmodel/lowering/modules.h"
#include "planner/engines/engines.h"
#include "planner/engines/findings.h"

namespace shardplan {
namespace {

constexpr double kMibPerGib = 1024;

struct SizeRow {
  double below_gib;
  std::int64_t chunk, graph_small, graph_large;  // decode graphs at tp < 4 and from tp 4 on
};
constexpr SizeRow kSizes[] = {
    {20, 2048, 8, 8}, {35, 4096, 48, 160}, {60, 4096, 32, 160}, {160, 8192, 256, 512}, {1e9, 16384, 512, 512},
};

const SizeRow& sizes_of(Bytes memory) {
  const double gib = static_cast<double>(memory.value()) / static_cast<double>(kGiB);
  return *std::find_if(std::begin(kSizes), std::end(kSizes), [gib](const SizeRow& row) { return gib < row.below_gib; });
}

std::int64_t graph_batch(const ParallelConfig& c, Bytes memory) {
  const SizeRow& row = sizes_of(memory);
  return c.stage_ranks() < 4 ? row.graph_small : row.graph_large;
}

// base = n/p, one more for the last stages.
std::vector<std::int64_t> layer_split(std::int64_t layers, std::int64_t stages) {
  std::vector<std::int64_t> parts(static_cast<std::size_t>(stages), layers / stages);
  for (std::int64_t i = 0; i < layers % stages; ++i) ++parts[static_cast<std::size_t>(stages - 1 - i)];
  return parts;
}

EngineMemory memory(const ModelSpec& model, const ParallelConfig& config, const HardwareProfile& hardware,
                    const std::string&) {
  const bool latent = attention_of(model).kind == AttentionKind::kLatent;
  EngineMemory memory;
  memory.fraction_of = FractionOf::kStatic;
  memory.memory_fraction_ratio = sglang_memory_fraction({
      .memory_mib = std::floor(static_cast<double>(hardware.device.memory.value()) / static_cast<double>(kMiB)),
      .gpus = config.instance_gpus(),
      .chunk = sizes_of(hardware.device.memory).chunk,
      .decode_graph = graph_batch(config, hardware.device.memory),
      .attention_dp = config.dpa,
      .latent = latent,
      .prefill_graphs = config.pp == 1,
      .deepep = sglang_all_to_all(model, config, hardware) == std::string_view("deepep"),
  });
  memory.block_size = latent && attention_of(model).index.top_k > 0 ? 64 : 1;  // --page-size; sparse MLA asks for 64
  memory.context = Bytes(256 * kMiB);
  memory.communicators = config.instance_gpus() > 1 ? Bytes(1024 * kMiB) : Bytes(0);
  memory.graphs = Bytes(2 * graph_batch(config, hardware.device.memory) * kMiB);
  return memory;
}

// A chunk is of one attention group here; --chunked-prefill-size is of all. Seats are those that graphs are captured
// for.
SchedulerDefaults scheduler(const ModelSpec&, const ParallelConfig& config, const HardwareProfile& hardware) {
  return {std::max<std::int64_t>(1, sizes_of(hardware.device.memory).chunk / config.dpa),
          graph_batch(config, hardware.device.memory), true};
}

// NVFP4 experts: flashinfer_trtllm is the default runner on Blackwell.
std::vector<std::string> kernel_libraries(const std::string& version) {
  return with_generated_experts(version.empty() || !VersionRange{"", "0.5.5"}.contains(version));
}

// FlashInfer's one kernel of all-reduce, residual and norm: for DeepSeek and gpt-oss from 0.5.5 on, on one host, up to 2,048 tokens.
FusedAllReduce fused_all_reduce(const ModelSpec& model, const ParallelConfig& config, const HardwareProfile& hardware, const std::string& version) {
  constexpr double kTokens = 2048;
  const std::string& architecture = hardware.device.architecture;
  const bool known = model.family == "deepseek" || model.family == "gpt_oss";
  const bool fuses = architecture == "hopper" || architecture == "blackwell" || architecture == "blackwell-ultra";
  if (config.tp == 1 || config.dpa > 1 || !known || !fuses || VersionRange{"", "0.5.5"}.contains(version)) return {};
  if (config.variant.moe_comm == MoeComm::kAllToAll && config.ep > 1) return {};
  const double limit = kTokens * static_cast<double>(model.hidden) * 2;
  return {{{2, limit}, {4, limit}, {8, limit}}};
}

// Whether a dense FFN of FP8 blocks can be split over the whole stage.
bool is_aligned_over_stage(const ModelSpec& model, const ParallelConfig& config) {
  const std::int64_t ranks = config.stage_ranks();
  return std::all_of(model.kinds.begin(), model.kinds.end(), [ranks](const LayerKind& kind) {
    if (kind.ffn.kind != FfnKind::kDense) return true;
    const std::int64_t block = is_fp8_block(kind.formats.dense_ffn) ? kind.formats.dense_ffn->block_columns : 1;
    return kind.ffn.intermediate % (ranks * block) == 0;
  });
}

bool has_shared_experts(const ModelSpec& model) {
  return std::any_of(model.kinds.begin(), model.kinds.end(),
                     [](const LayerKind& kind) { return kind.ffn.shared_intermediate > 0; });
}

ParallelConfig settle(const ModelSpec& model, ParallelConfig config) {
  if (!model.is_moe() || config.dpa == 1) return config;
  const bool all_to_all = config.variant.moe_comm == MoeComm::kAllToAll;
  const bool whole = (all_to_all && config.tp == 1) || !is_aligned_over_stage(model, config);
  if (config.dense_tp == 0) config.dense_tp = whole ? 1 : config.stage_ranks();
  if (!all_to_all && config.shared_expert_tp == 0 && has_shared_experts(model))
    config.shared_expert_tp = config.stage_ranks();
  return config;
}

}  // namespace

double sglang_reserved_mib(const SglangMemory& m) {
  const double activations = static_cast<double>(std::max<std::int64_t>(m.chunk, 2048));
  const auto graph = static_cast<double>(m.decode_graph);
  double graphs = 2 * graph;
  if (m.attention_dp > 1) graphs += (graph > 300 ? 4.5 : 3) * graph * static_cast<double>(m.attention_dp);
  if (m.prefill_graphs && m.latent) graphs += 1536;
  double reserved = 512 + 1.5 * activations + static_cast<double>(m.gpus) / 8 * 1024 + graphs;
  if (m.memory_mib > 60 * kMibPerGib) reserved = std::max(reserved, 10240.0);
  return reserved + (m.deepep ? 2048 : 0);
}

double sglang_memory_fraction(const SglangMemory& m) {
  return std::round((m.memory_mib - sglang_reserved_mib(m)) / m.memory_mib * 1000) / 1000;
}

const char* sglang_all_to_all(const ModelSpec& model, const ParallelConfig& config, const HardwareProfile& hardware) {
  if (!model.is_moe() || config.ep == 1 || config.variant.moe_comm != MoeComm::kAllToAll) return "none";
  const bool one_domain = config.stage_ranks() <= hardware.node.domain;
  const bool each_rank_alone = config.dpa > 1 && config.tp == 1 && config.pcp == 1;  // dp == tp in SGLang's words
  return hardware.device.architecture.starts_with("blackwell") && one_domain && each_rank_alone ? "flashinfer" : "deepep";
}

Engine sglang_engine() {
  return {.name = "sglang",
          .help = "SGLang (rules of around 0.5.20)",
          .default_version = "0.5.20",
          .rules = sglang_rules,
          .layer_split = layer_split,
          .memory = memory,
          .scheduler = scheduler,
          .exports = true,
          .settle = settle,
          .kernel_libraries = kernel_libraries,
          .fused_all_reduce = fused_all_reduce,
          .symmetric_from_ranks = 2,
          .symmetric_pool = Bytes(4'000'000'000),
          .releases = {{"2025-08", "0.5.1"}, {"2025-09", "0.5.2"}, {"2025-11", "0.5.5"}, {"2025-12", "0.5.6"}, {"2026-01", "0.5.8"}, {"2026-03", "0.5.9"}},
          .oldest_version = "0.5.10",
          .newest_version = "0.5.20"};
}

}  // namespace shardplan
