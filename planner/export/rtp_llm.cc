// RTP-LLM's command line. Every rank's world is spelled out; DeepEP's switches go by how many nodes there are.
#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "planner/deployment.h"
#include "planner/engines/engines.h"
#include "planner/export/exporters.h"
#include "planner/export/placement.h"

namespace shardplan {
namespace {

// --model_type by family, where it is known; other models that share DeepSeek's layers have classes of their own.
const char* model_type(const ModelSpec& model) {
  struct Row {
    std::string_view family;
    const char* type;
  };
  static constexpr Row kRows[] = {{"llama", "llama"},          {"qwen2", "qwen_2"},         {"qwen3", "qwen_3"},
                                  {"qwen2_moe", "qwen_2_moe"}, {"qwen3_moe", "qwen_3_moe"}, {"mixtral", "mixtral"}};
  for (const Row& row : kRows) {
    if (row.family == model.family) return row.type;
  }
  const bool dense_attention = model.main_attention().index.top_k == 0;
  return model.family == "deepseek" && model.hf_id.starts_with("deepseek-ai/") && dense_attention ? "deepseek3"
                                                                                                  : nullptr;
}

void add_experts(Arguments& out, const PlanRequest& request, const ParallelConfig& c) {
  if (!request.model.is_moe()) return;
  out.set("--ep_size", c.ep);
  const bool sends = c.variant.moe_comm == MoeComm::kAllToAll;
  out.set("--use_all_gather", sends ? 0 : 1).set("--use_deepep_moe", sends ? 1 : 0).set("--use_deepep_low_latency", 0);
  out.set("--use_deepep_internode", sends && nodes_of(request, c) > 1 ? 1 : 0);
  out.set("--redundant_expert", c.variant.redundant_experts);
  out.set("--eplb_mode", c.variant.redundant_experts > 0 ? "EPLB" : "NONE");
}

// Modules are loaded as a model of their own, from the same checkpoint.
void add_speculation(EngineLaunch& launch, const PlanRequest& request, const ParallelConfig& c) {
  if (c.variant.speculative_tokens == 0) return;
  launch.command.set("--sp_type", "mtp").set("--gen_num_per_cycle", c.variant.speculative_tokens);
  launch.command.set("--sp_checkpoint_path", checkpoint_of(request.model));
  const char* type = model_type(request.model);
  if (type != nullptr && std::string_view(type) == "deepseek3")
    launch.command.set("--sp_model_type", "deepseek-v3-mtp");
  else
    launch.notes.push_back(
        fmt::format("add --sp_model_type, RTP-LLM's name of the class that drafts for {}", request.model.name));
}

void add_memory(Arguments& out, const PlanRequest& request, const Plan& plan) {
  const bool fp8 = formats_of(request).kv->bits == 8;
  out.set("--max_seq_len", context_of(request)).set("--concurrency_limit", plan.max_num_sequences * plan.config.dpa);
  out.set("--max_batch_size", plan.max_num_sequences).set("--max_context_batch_size", 1);
  out.set("--seq_size_per_block", memory_of(request, plan.config).block_size);
  out.set("--reserver_runtime_mem_mb", kRtpRuntimeReserveMib).set("--kv_cache_mem_mb", least_pool(plan).value() / kMiB);
  out.set("--fp8_kv_cache", fp8 ? 1 : 0).set("--act_type", "bf16").set("--reuse_cache", 1);
  if (quantises_on_load(request.model)) out.set("--quantization", "FP8");
}

EngineLaunch write(const PlanRequest& request, const Plan& plan, const std::string&) {
  const ParallelConfig& c = plan.config;
  EngineLaunch launch;
  launch.program = {"python3", "-m", "rtp_llm.start_server"};
  launch.command.set("--checkpoint_path", checkpoint_of(request.model));
  launch.notes = common_notes(request, plan, true);
  if (const char* type = model_type(request.model))
    launch.command.set("--model_type", type);
  else
    launch.notes.push_back(
        fmt::format("add --model_type, RTP-LLM's name of the class that serves {}", request.model.name));
  launch.command.compute("--start_port", "\"$PORT\"");
  launch.command.set("--tp_size", c.tp).set("--dp_size", c.dpa).set("--world_size", c.instance_gpus());
  launch.command.set("--local_world_size", gpus_per_node(request, c));
  launch.command.compute("--world_rank", fmt::format("$((NODE * {}))", gpus_per_node(request, c)));
  add_experts(launch.command, request, c);
  add_speculation(launch, request, c);
  add_memory(launch.command, request, plan);
  if (nodes_of(request, c) > 1) launch.environment.compute("LEADER_ADDRESS", "\"$MASTER_ADDR\"");
  launch.image = "rtp-llm:cuda12";
  launch.notes.emplace_back(
      "RTP-LLM publishes no image under a fixed name: build one and put its name in place of rtp-llm:cuda12 where a "
      "manifest needs it");
  return launch;
}

ParallelConfig read(const Arguments& a, const ModelSpec& model) {
  ParallelConfig c;
  c.tp = a.degree("--tp_size");
  c.dpa = a.degree("--dp_size");
  if (a.text("--sp_type", "none") != "none") c.variant.speculative_tokens = a.count("--gen_num_per_cycle", 1);
  if (!model.is_moe()) return c;
  const std::int64_t ep = a.count("--ep_size", 0);
  c.ep = ep == 0 ? c.stage_ranks() : ep;
  c.moe_tp = c.ep == 1 ? c.stage_ranks() : 1;
  const bool sends = a.text("--use_deepep_moe", "0") == "1";
  c.variant.moe_comm = sends ? MoeComm::kAllToAll : c.dpa > 1 ? MoeComm::kAllGather : MoeComm::kReplicated;
  c.variant.redundant_experts = a.count("--redundant_expert", 0);
  return c;
}

std::vector<std::string> conflicts(const Arguments& a) {
  std::vector<std::string> out;
  const std::int64_t world = a.degree("--tp_size") * a.degree("--dp_size");
  if (a.count("--world_size", world) != world)
    out.push_back(fmt::format("--world_size {} is not tp x dp = {}", a.count("--world_size", world), world));
  const std::int64_t local = a.count("--local_world_size", world);
  if (local < 1 || world % local != 0)
    out.push_back(fmt::format("--world_size {} does not divide by --local_world_size {}", world, local));
  const std::int64_t ep = a.count("--ep_size", 0);
  if (ep != 0 && ep != 1 && ep != world) out.push_back(fmt::format("--ep_size {} is not 0, 1 or {}", ep, world));
  if (a.text("--use_all_gather") == "1" && a.text("--use_deepep_moe") == "1")
    out.emplace_back("--use_all_gather contradicts --use_deepep_moe");
  if (a.text("--use_deepep_internode") == "1" && a.text("--use_deepep_moe") != "1")
    out.emplace_back("--use_deepep_internode needs --use_deepep_moe 1");
  return out;
}

}  // namespace

Exporter rtp_llm_exporter() {
  return {"rtp-llm",
          "a bash script around `rtp_llm.start_server`, and a manifest for several nodes",
          "python3 -m rtp_llm.start_server",
          write,
          read,
          rtp_llm_flags,
          nullptr,
          conflicts};
}

}  // namespace shardplan
