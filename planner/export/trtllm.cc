// TensorRT-LLM: a YAML file and `trtllm-serve`; over several nodes one mpirun starts every rank.
//
// Attention DP has no size: tensor_parallel_size ranks, one group each. Helix ranks count in context_parallel_size. How
// tokens meet experts under attention DP is forced (TRTLLM_FORCE_COMM_METHOD), since AUTO decides by what it finds.
#include <fmt/format.h>

#include <algorithm>

#include "planner/deployment.h"
#include "planner/export/exporters.h"
#include "planner/export/placement.h"

namespace shardplan {
namespace {

std::string cache_dtype(const NumberFormat& format) {
  return format.name == "fp8" || format.name == "nvfp4" ? std::string(format.name) : "auto";
}

std::string comm_method(const PlanRequest& request, const ParallelConfig& c) {
  if (c.variant.moe_comm != MoeComm::kAllToAll) return "ALLGATHER";
  const bool one_domain = c.instance_gpus() <= request.hardware.node.domain;
  return request.hardware.device.architecture.starts_with("blackwell") && one_domain ? "NVLINK_ONE_SIDED"
                                                                                     : "DEEPEPLOWLATENCY";
}

// The MoE kernels for a format on an architecture; balanced slots need the wide-EP backend.
std::string moe_backend(const PlanRequest& request, const ParallelConfig& c) {
  if (c.variant.redundant_experts > 0) return "WIDEEP";
  const bool blackwell = request.hardware.device.architecture.starts_with("blackwell");
  const NumberFormat* format = nullptr;
  for (const LayerKind& kind : request.model.kinds) {
    if (kind.ffn.kind == FfnKind::kMoe) format = kind.formats.experts;
  }
  if (format == nullptr) return "AUTO";
  if (format->name == "nvfp4") return blackwell ? "TRTLLM" : "CUTLASS";
  if (format->name == "fp8_block") return blackwell ? "DEEPGEMM" : "CUTLASS";
  if (format->name == "mxfp4") return blackwell ? "TRTLLM" : "TRITON";
  return "CUTLASS";
}

void add_sizes(Arguments& out, const PlanRequest& request, const ParallelConfig& c) {
  const std::int64_t cp = c.variant.helix ? c.dcp : 1;
  out.set("tensor_parallel_size", c.dpa > 1 ? c.dpa : c.tp / cp);
  out.set("pipeline_parallel_size", c.pp).set("context_parallel_size", cp);
  out.set("gpus_per_node", gpus_per_node(request, c));
  if (c.variant.helix) out.set("cp_config.cp_type", "HELIX").set("cp_config.tokens_per_block", 32);
  out.set("enable_attention_dp", c.dpa > 1 ? "true" : "false");
  if (c.variant.speculative_tokens > 0) {
    out.set("speculative_config.decoding_type", "MTP");
    out.set("speculative_config.num_nextn_predict_layers", c.variant.speculative_tokens);
  }
  if (!request.model.is_moe()) return;
  out.set("moe_tensor_parallel_size", c.moe_tp).set("moe_expert_parallel_size", c.ep);
  out.set("moe_config.backend", moe_backend(request, c));
  if (c.variant.redundant_experts > 0) {
    out.set("moe_config.load_balancer.num_slots", request.model.max_experts() + c.variant.redundant_experts);
    out.set("moe_config.load_balancer.layer_updates_per_iter", 1);
  }
}

void add_memory(Arguments& out, const PlanRequest& request, const Plan& plan) {
  const EngineMemory memory = memory_of(request, plan.config);
  out.set("max_batch_size", plan.max_num_sequences).set("max_num_tokens", plan.max_batched_tokens);
  out.set("max_seq_len", context_of(request)).set("max_beam_width", 1).set("enable_chunked_prefill", "true");
  out.set("kv_cache_config.free_gpu_memory_fraction", fmt::format("{:.2f}", memory.memory_fraction_ratio));
  out.set("kv_cache_config.tokens_per_block", memory.block_size);
  out.set("kv_cache_config.dtype", cache_dtype(*formats_of(request).kv))
      .set("kv_cache_config.enable_block_reuse", "true");
  out.set("cuda_graph_config.enable_padding", "true").set("cuda_graph_config.max_batch_size", plan.max_num_sequences);
  out.set("disable_overlap_scheduler", request.role == PoolRole::kPrefill ? "true" : "false")
      .set("scheduler_config.capacity_scheduler_policy", "GUARANTEED_NO_EVICT");
}

EngineLaunch write(const PlanRequest& request, const Plan& plan, const std::string& version) {
  const ParallelConfig& c = plan.config;
  EngineLaunch launch;
  launch.program = {"trtllm-serve", checkpoint_of(request.model)};
  launch.command.set("--host", "0.0.0.0").compute("--port", "\"$PORT\"").set("--backend", "pytorch");
  launch.config_flag = "--config";
  add_sizes(launch.config, request, c);
  add_memory(launch.config, request, plan);
  if (request.price.symmetric_memory) launch.config.set("allreduce_strategy", "NCCL_SYMMETRIC");
  const std::string split = own_split(request, plan, "trtllm");
  if (!split.empty()) launch.config.set("pp_partition", split);
  if (request.model.is_moe() && c.dpa > 1) launch.environment.set("TRTLLM_FORCE_COMM_METHOD", comm_method(request, c));
  launch.under_mpi = nodes_of(request, c) > 1;
  launch.image = "nvcr.io/nvidia/tensorrt-llm/release:" + full_version(version);
  launch.notes = common_notes(request, plan, false);
  if (c.variant.helix)
    launch.notes.emplace_back(
        "Helix is for the generation server of a disaggregated deployment: a context server takes the prompts");
  return launch;
}

ParallelConfig read(const Arguments& a, const ModelSpec& model) {
  ParallelConfig c;
  c.pp = a.degree("pipeline_parallel_size");
  const std::int64_t ranks = a.degree("tensor_parallel_size");
  const std::int64_t cp = a.degree("context_parallel_size");
  const bool groups = a.text("enable_attention_dp") == "true";
  (groups ? c.dpa : c.tp) = ranks;
  Variant& v = c.variant;
  if (a.has("speculative_config.decoding_type"))
    v.speculative_tokens = a.count("speculative_config.num_nextn_predict_layers", 0);
  if (a.text("cp_config.cp_type") == "HELIX") {
    v.helix = true;
    c.dcp = cp;
    c.tp = ranks * cp;
  }
  if (!model.is_moe()) return c;
  c.ep = a.degree("moe_expert_parallel_size");
  c.moe_tp =
      a.count("moe_tensor_parallel_size", std::max<std::int64_t>(1, c.stage_ranks() / std::max<std::int64_t>(1, c.ep)));
  const bool gathers = a.text("TRTLLM_FORCE_COMM_METHOD", "ALLGATHER") == "ALLGATHER";
  v.moe_comm = c.dpa == 1 ? MoeComm::kReplicated : gathers ? MoeComm::kAllGather : MoeComm::kAllToAll;
  const std::int64_t slots = a.degree("moe_config.load_balancer.num_slots", model.max_experts());
  v.redundant_experts = slots - model.max_experts();
  return require_engine("trtllm").settled(model, c);
}

std::vector<std::string> conflicts(const Arguments& a) {
  std::vector<std::string> out;
  const std::int64_t cp = a.degree("context_parallel_size");
  const std::int64_t moe_world = a.degree("tensor_parallel_size") * (a.has("cp_config.cp_type") ? cp : 1);
  const std::int64_t moe = a.count("moe_tensor_parallel_size", moe_world) * a.degree("moe_expert_parallel_size");
  if (a.has("moe_tensor_parallel_size") && moe != moe_world)
    out.push_back(fmt::format(
        "moe_tensor_parallel_size x moe_expert_parallel_size = {}, not the {} ranks that experts use", moe, moe_world));
  if (a.has("speculative_config.num_nextn_predict_layers") && !a.has("speculative_config.decoding_type"))
    out.emplace_back("speculative_config needs decoding_type");
  if (cp > 1 && !a.has("cp_config.cp_type")) out.emplace_back("context_parallel_size above 1 needs cp_config.cp_type");
  if (cp > 1 && a.degree("moe_expert_parallel_size") > 1 && a.text("cp_config.cp_type") != "HELIX")
    out.emplace_back("moe_expert_parallel_size beside context parallelism needs HELIX");
  if (a.text("enable_chunked_prefill") != "true" && a.count("max_seq_len", 0) > a.count("max_num_tokens", 8192))
    out.emplace_back("without chunked prefill a prompt must fit max_num_tokens");
  const std::int64_t slots = a.count("moe_config.load_balancer.num_slots", 0);
  if (slots % std::max<std::int64_t>(1, a.degree("moe_expert_parallel_size")) != 0)
    out.emplace_back("load_balancer.num_slots does not divide by moe_expert_parallel_size");
  return out;
}

void add_role(const PlanRequest& request, EngineLaunch& out) {
  out.config.set("cache_transceiver_config.backend", "UCX")
      .set("cache_transceiver_config.max_tokens_in_buffer", context_of(request));
  out.notes.emplace_back(
      fmt::format("trtllm-serve disaggregated -c FILE stands in front; FILE names this instance among its {}",
                  request.role == PoolRole::kPrefill ? "context_servers" : "generation_servers"));
}

}  // namespace

Exporter trtllm_exporter() {
  return {"trtllm",
          "a YAML file and a bash script around `trtllm-serve`, and a manifest for several nodes",
          "trtllm-serve *",
          write,
          read,
          trtllm_flags,
          add_role,
          conflicts};
}

}  // namespace shardplan
