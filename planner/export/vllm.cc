// vLLM's command line.
//
// A replica over several nodes runs the same command on each, node 0 first: where attention groups lie inside nodes by
// --data-parallel-start-rank, otherwise by --nnodes. The EP size is no flag: -ep makes it dp x pcp x tp. An all2all
// backend is named where it acts: with dp > 1, or with pcp > 1 and -ep.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "planner/deployment.h"
#include "planner/export/exporters.h"
#include "planner/export/placement.h"

namespace shardplan {
namespace {

constexpr const char* kGather = "allgather_reducescatter";

// How vLLM spells a cache format.
std::string cache_dtype(const NumberFormat& format) {
  if (format.name == "bf16") return "bfloat16";
  if (format.name == "fp16") return "float16";
  return format.name == "fp8" || format.name == "nvfp4" ? std::string(format.name) : "auto";
}

// The backend that moves tokens as the plan does. DeepEP's low-latency kernels hold a dispatch of limited size.
constexpr std::int64_t kMostLowLatencyTokens = 1024;

std::string all2all_backend(const PlanRequest& request, const Plan& plan) {
  const ParallelConfig& c = plan.config;
  if (c.variant.moe_comm != MoeComm::kAllToAll) return kGather;
  const bool one_domain = c.instance_gpus() <= request.hardware.node.domain;
  if (request.hardware.device.architecture.starts_with("blackwell") && one_domain) return "flashinfer_nvlink_two_sided";
  return plan.max_batched_tokens <= kMostLowLatencyTokens ? "deepep_low_latency" : "deepep_high_throughput";
}

bool names_backend(const PlanRequest& request, const ParallelConfig& c) {
  return request.model.is_moe() && (c.dpa > 1 || (c.ep > 1 && c.pcp > 1));
}

void add_sizes(Arguments& out, const PlanRequest& request, const Plan& plan) {
  const ParallelConfig& c = plan.config;
  out.set("--tensor-parallel-size", c.tp).set("--pipeline-parallel-size", c.pp).set("--data-parallel-size", c.dpa);
  if (c.pcp > 1) out.set("--prefill-context-parallel-size", c.pcp);
  out.set("--decode-context-parallel-size", c.dcp);
  if (c.dcp > 1) {
    out.set("--dcp-comm-backend", std::string(name_of(c.variant.dcp_comm)));
    out.set("--cp-kv-cache-interleave-size", c.variant.cp_interleave);
    out.turn_on(c.variant.q_replicate ? "--dcp-q-replicate" : "--no-dcp-q-replicate");
  }
  if (request.model.is_moe() && c.ep > 1) out.turn_on("--enable-expert-parallel");
  if (names_backend(request, c)) out.set("--all2all-backend", all2all_backend(request, plan));
  if (c.variant.redundant_experts > 0 || c.variant.elastic_ep) {
    out.turn_on("--enable-eplb")
        .set("--eplb-config", fmt::format("{{\"num_redundant_experts\": {}}}", c.variant.redundant_experts));
  }
  if (c.variant.elastic_ep) out.turn_on("--enable-elastic-ep").set("--data-parallel-backend", "ray");
  if (c.variant.overlap == Overlap::kTwoBatch) out.turn_on("--enable-dbo");
}

// Before 0.11 the method was named after the model family.
void add_speculation(Arguments& out, const ParallelConfig& c, const std::string& version) {
  if (c.variant.speculative_tokens == 0) return;
  const char* method = parse_version(version) >= Version{0, 11, 0} ? "mtp" : "deepseek_mtp";
  out.set("--speculative-config",
          fmt::format("{{\"method\": \"{}\", \"num_speculative_tokens\": {}}}", method, c.variant.speculative_tokens));
}

void add_memory(Arguments& out, const PlanRequest& request, const Plan& plan) {
  const EngineMemory memory = memory_of(request, plan.config);
  out.set("--gpu-memory-utilization", fmt::format("{:.2f}", memory.memory_fraction_ratio));
  out.set("--max-model-len", context_of(request)).set("--max-num-seqs", plan.max_num_sequences);
  out.set("--max-num-batched-tokens", plan.max_batched_tokens);
  out.set("--kv-cache-dtype", cache_dtype(*formats_of(request).kv)).set("--block-size", memory.block_size);
  out.set("--dtype", formats_of(request).activation->name == "fp16" ? "float16" : "bfloat16");
  out.turn_on("--enable-chunked-prefill").turn_on("--enable-prefix-caching");
  if (request.model.vision_heads % plan.config.tp != 0) out.set("--mm-encoder-tp-mode", "data");
  if (quantises_on_load(request.model)) out.set("--quantization", "fp8");
}

void add_nodes(Arguments& out, const PlanRequest& request, const ParallelConfig& c) {
  const NodeSpread spread = node_spread_of(request, c);
  if (spread == NodeSpread::kOneNode) return;
  if (c.variant.elastic_ep) {   // Ray places the ranks
    out.set("--data-parallel-size-local", request.hardware.node.devices / (c.pp * c.pcp * c.tp));
    out.compute("--data-parallel-address", "\"$MASTER_ADDR\"");
    return;
  }
  if (spread == NodeSpread::kWholeGroups) {
    const std::int64_t local = request.hardware.node.devices / (c.pp * c.pcp * c.tp);
    out.set("--data-parallel-size-local", local);
    out.compute("--data-parallel-start-rank", fmt::format("$((NODE * {}))", local));
    out.compute("--data-parallel-address", "\"$MASTER_ADDR\"").set("--data-parallel-rpc-port", 29550);
    return;
  }
  out.set("--distributed-executor-backend", "mp");
  out.set("--nnodes", nodes_of(request, c)).compute("--node-rank", "\"$NODE\"");
  out.compute("--master-addr", "\"$MASTER_ADDR\"").set("--master-port", 29501);
}

// CUDA graphs are estimated before they are captured: the pool that the plan counts on can be given instead.
std::string pinned_pool(const Plan& plan) {
  return fmt::format(
      "--kv-cache-memory-bytes {} in place of --gpu-memory-utilization pins the planned cache, whatever "
      "CUDA graphs are estimated at",
      least_pool(plan).value());
}

EngineLaunch write(const PlanRequest& request, const Plan& plan, const std::string& version) {
  const ParallelConfig& c = plan.config;
  EngineLaunch launch;
  launch.program = {"vllm", "serve", checkpoint_of(request.model)};
  launch.command.set("--host", "0.0.0.0").compute("--port", "\"$PORT\"");
  add_sizes(launch.command, request, plan);
  add_speculation(launch.command, c, version);
  add_memory(launch.command, request, plan);
  add_nodes(launch.command, request, c);
  const std::string split = own_split(request, plan, "vllm");
  if (!split.empty()) launch.environment.set("VLLM_PP_LAYER_PARTITION", split);
  if (request.price.symmetric_memory) launch.environment.set("VLLM_USE_NCCL_SYMM_MEM", 1).set("NCCL_NVLS_ENABLE", 1).set("NCCL_CUMEM_ENABLE", 1);
  launch.worker_flags = {"--headless"};
  launch.image = "vllm/vllm-openai:v" + full_version(version);
  launch.notes = common_notes(request, plan, true);
  launch.notes.push_back(pinned_pool(plan));
  launch.under_ray = c.variant.elastic_ep;
  if (c.variant.elastic_ep) {
    launch.notes.emplace_back(
        "one Ray cluster over all nodes, those to be added included; start this on its first node alone. Scale with POST "
        "/scale_elastic_ep {\"new_data_parallel_size\": N}; VLLM_ELASTIC_EP_DRAIN_REQUESTS=1 waits for running requests "
        "(drain_timeout 120 s, then nothing is changed), else those of ranks that go are aborted. Asynchronous EPLB (use_async) needs NIXL");
  }
  if (names_backend(request, c) && all2all_backend(request, plan).starts_with("deepep")) {
    const bool low_latency = all2all_backend(request, plan) == "deepep_low_latency";
    launch.notes.emplace_back(
        low_latency ? "DeepEP must be installed; its low-latency kernels cap tokens per rank of one dispatch"
                    : "DeepEP must be installed; its high-throughput kernels take steps of this size, and run without "
                      "CUDA graphs");
  }
  return launch;
}

ParallelConfig read(const Arguments& a, const ModelSpec& model) {
  ParallelConfig c;
  c.tp = a.degree("--tensor-parallel-size");
  c.pp = a.degree("--pipeline-parallel-size");
  c.dpa = a.degree("--data-parallel-size");
  c.pcp = a.degree("--prefill-context-parallel-size");
  c.dcp = a.degree("--decode-context-parallel-size");
  Variant& v = c.variant;
  v.dcp_comm = a.text("--dcp-comm-backend", "ag_rs") == "a2a" ? DcpComm::kA2a : DcpComm::kAgRs;
  v.q_replicate = a.has("--dcp-q-replicate");
  v.cp_interleave = a.degree("--cp-kv-cache-interleave-size");
  v.speculative_tokens = a.count_in("--speculative-config", "num_speculative_tokens");
  if (a.has("--enable-dbo")) v.overlap = Overlap::kTwoBatch;
  if (!model.is_moe()) return c;
  (a.has("--enable-expert-parallel") ? c.ep : c.moe_tp) = c.stage_ranks();
  const bool moved = c.dpa > 1 || (c.ep > 1 && c.pcp > 1);
  const bool gathers = a.text("--all2all-backend", kGather) == kGather;
  v.moe_comm = !moved ? MoeComm::kReplicated : gathers ? MoeComm::kAllGather : MoeComm::kAllToAll;
  v.elastic_ep = a.has("--enable-elastic-ep");
  v.redundant_experts = a.has("--enable-eplb") ? a.count_in("--eplb-config", "num_redundant_experts") : 0;
  return c;
}

std::vector<std::string> conflicts(const Arguments& a) {
  std::vector<std::string> out;
  const std::int64_t tokens = a.count("--max-num-batched-tokens", 0);
  const std::int64_t seats = a.count("--max-num-seqs", 0);
  if (tokens < seats)
    out.push_back(fmt::format("--max-num-batched-tokens {} is below --max-num-seqs {}", tokens, seats));
  if (!a.has("--enable-chunked-prefill") && tokens < a.count("--max-model-len", 0))
    out.emplace_back("without chunked prefill --max-num-batched-tokens must reach --max-model-len");
  const std::int64_t block = a.count("--block-size", 16);
  const std::int64_t interleave = a.degree("--cp-kv-cache-interleave-size");
  if (interleave < 1 || block % interleave != 0)
    out.push_back(fmt::format("--block-size {} is no multiple of --cp-kv-cache-interleave-size {}", block, interleave));
  const std::int64_t ranks = a.degree("--tensor-parallel-size") * a.degree("--pipeline-parallel-size") *
                             a.degree("--data-parallel-size") * a.degree("--prefill-context-parallel-size");
  const std::int64_t nodes = a.degree("--nnodes");
  if (ranks % nodes != 0) out.push_back(fmt::format("{} ranks do not divide by --nnodes {}", ranks, nodes));
  if (nodes > 1 && a.text("--distributed-executor-backend") != "mp")
    out.emplace_back("--nnodes needs --distributed-executor-backend mp");
  if (a.degree("--data-parallel-size-local") > a.degree("--data-parallel-size"))
    out.emplace_back("--data-parallel-size-local exceeds --data-parallel-size");
  if (a.has("--enable-elastic-ep") && !a.has("--enable-eplb")) out.emplace_back("--enable-elastic-ep needs --enable-eplb");
  if (a.has("--enable-elastic-ep") && a.text("--data-parallel-backend", "mp") != "ray")
    out.emplace_back("--enable-elastic-ep scales under --data-parallel-backend ray");
  if (a.has("--enable-eplb") && !a.has("--enable-expert-parallel"))
    out.emplace_back("--enable-eplb needs --enable-expert-parallel");
  if (a.has("--speculative-config") && a.count_in("--speculative-config", "num_speculative_tokens") == 0)
    out.emplace_back("--speculative-config has no num_speculative_tokens");
  const std::string backend = a.text("--all2all-backend");
  if (a.has("--enable-dbo") && !backend.starts_with("deepep") && backend != "nixl_ep")
    out.emplace_back("--enable-dbo needs a DeepEP or NIXL all2all backend");
  return out;
}

// Either side may hand caches to the other; the router says which does.
void add_role(const PlanRequest&, EngineLaunch& out) {
  out.command.set("--kv-transfer-config", R"({"kv_connector": "NixlConnector", "kv_role": "kv_both"})");
  out.environment.compute("VLLM_NIXL_SIDE_CHANNEL_HOST", "\"$(hostname -i)\"").set("VLLM_NIXL_SIDE_CHANNEL_PORT", 5600);
  out.notes.emplace_back(
      "NIXL must be installed, and a router that hands requests over (vLLM's own example, llm-d, Dynamo) sends each "
      "prompt "
      "to a prefill instance first");
}

}  // namespace

Exporter vllm_exporter() {
  return {"vllm",         "a bash script around `vllm serve`, and a manifest for several nodes",
          "vllm serve *", write,
          read,           vllm_flags,
          add_role,       conflicts};
}

}  // namespace shardplan
