// vLLM launch script.
//
// One script serves every replica and every node of it: `./vllm.sh [replica] [node]`. A replica inside a node gets its
// GPUs by CUDA_VISIBLE_DEVICES and its own port. A replica over several nodes runs the script on each, node 0 first:
// with dp whose ranks lie inside nodes, by --data-parallel-start-rank; otherwise by --nnodes. All values are written
// out, since defaults move between versions (gpu-memory-utilization went from 0.90 to 0.92).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/units.h"
#include "planner/deployment.h"
#include "planner/export/exporters.h"
#include "planner/export/shell.h"

namespace shardplan {
namespace {

constexpr std::int64_t kFirstPort = 8000;

// How vLLM spells a cache format.
std::string cache_dtype(const NumberFormat& format) {
  struct Row {
    std::string_view ours;
    const char* theirs;
  };
  static constexpr Row kRows[] = {{"bf16", "bfloat16"}, {"fp16", "float16"}, {"fp8", "fp8"}, {"nvfp4", "nvfp4"}};
  for (const Row& row : kRows) {
    if (row.ours == format.name) return row.theirs;
  }
  return "auto";
}

std::string activation_dtype(const NumberFormat& format) { return format.name == "fp16" ? "float16" : "bfloat16"; }

// The backend that moves tokens as the plan does.
std::string all2all_backend(const PlanRequest& request, const Plan& plan) {
  if (plan.config.variant.moe_comm != MoeComm::kAllToAll) return "allgather_reducescatter";
  const bool one_domain = plan.config.instance_gpus() <= request.hardware.node.domain;
  if (request.hardware.device.architecture == "blackwell" && one_domain) return "flashinfer_nvlink_two_sided";
  return "deepep_low_latency";
}

enum class Spread { kOneNode, kDataParallelNodes, kNodes };

Spread spread_of(const PlanRequest& request, const ParallelConfig& c) {
  const std::int64_t per_node = request.hardware.node.devices;
  if (c.instance_gpus() <= per_node) return Spread::kOneNode;
  const std::int64_t rank = c.pp * c.pcp * c.tp;  // GPUs of one dp rank
  return c.dpa > 1 && rank <= per_node && per_node % rank == 0 ? Spread::kDataParallelNodes : Spread::kNodes;
}

std::int64_t nodes_of(const PlanRequest& request, const ParallelConfig& c) {
  return ceil_div(c.instance_gpus(), request.hardware.node.devices);
}

void add_sizes(ShellCommand& command, const PlanRequest& request, const Plan& plan) {
  const ParallelConfig& c = plan.config;
  command.option("--tensor-parallel-size", c.tp)
      .option("--pipeline-parallel-size", c.pp)
      .option("--data-parallel-size", c.dpa);
  if (c.pcp > 1) command.option("--prefill-context-parallel-size", c.pcp);
  command.option("--decode-context-parallel-size", c.dcp);
  if (c.dcp > 1) {
    command.option("--dcp-comm-backend", std::string(name_of(c.variant.dcp_comm)));
    command.option("--cp-kv-cache-interleave-size", c.variant.cp_interleave);
    command.flag(c.variant.q_replicate ? "--dcp-q-replicate" : "--no-dcp-q-replicate");
  }
  if (request.model.is_moe() && c.ep > 1) command.flag("--enable-expert-parallel");
  if (request.model.is_moe() && (c.dpa > 1 || (c.ep > 1 && c.pcp > 1)))
    command.option("--all2all-backend", all2all_backend(request, plan));
  if (c.variant.redundant_experts > 0) {
    command.flag("--enable-eplb")
        .option("--eplb-config", fmt::format("{{\"num_redundant_experts\": {}}}", c.variant.redundant_experts));
  }
  if (c.variant.overlap == Overlap::kTwoBatch) command.flag("--enable-dbo");
}

void add_memory(ShellCommand& command, const PlanRequest& request, const Plan& plan) {
  const EngineMemory memory = memory_of(request, plan.config);
  command.option("--gpu-memory-utilization", fmt::format("{:.2f}", memory.memory_fraction_ratio));
  command.option("--max-model-len", context_of(request)).option("--max-num-seqs", plan.max_num_sequences);
  command.option("--max-num-batched-tokens", plan.max_batched_tokens);
  command.option("--kv-cache-dtype", cache_dtype(*formats_of(request).kv)).option("--block-size", memory.block_size);
  command.option("--dtype", activation_dtype(*formats_of(request).activation));
  command.flag("--enable-chunked-prefill").flag("--enable-prefix-caching");
}

void add_nodes(ShellCommand& command, const PlanRequest& request, const ParallelConfig& c) {
  const Spread spread = spread_of(request, c);
  if (spread == Spread::kOneNode) return;
  if (spread == Spread::kDataParallelNodes) {
    const std::int64_t local = request.hardware.node.devices / (c.pp * c.pcp * c.tp);
    command.option("--data-parallel-size-local", local);
    command.raw_option("--data-parallel-start-rank", fmt::format("$((NODE * {}))", local));
    command.raw_option("--data-parallel-address", "\"$MASTER_ADDR\"").raw_option("--data-parallel-rpc-port", "29550");
    return;
  }
  command.option("--distributed-executor-backend", std::string("mp"));
  command.option("--nnodes", nodes_of(request, c)).raw_option("--node-rank", "\"$NODE\"");
  command.raw_option("--master-addr", "\"$MASTER_ADDR\"").raw_option("--master-port", "29501");
}

// vLLM quantises a bf16 checkpoint to per-tensor fp8 as it loads; other formats need a checkpoint that holds them.
bool quantises_on_load(const ModelSpec& model) { return model.requested_format == "fp8"; }

std::string model_name(const ModelSpec& model) { return model.hf_id.empty() ? model.name : model.hf_id; }

ShellCommand serve_command(const PlanRequest& request, const Plan& plan) {
  ShellCommand command({"vllm", "serve", model_name(request.model)});
  command.option("--host", std::string("0.0.0.0")).raw_option("--port", "\"$PORT\"");
  add_sizes(command, request, plan);
  add_memory(command, request, plan);
  if (quantises_on_load(request.model)) command.option("--quantization", std::string("fp8"));
  add_nodes(command, request, plan.config);
  return command;
}

std::string header(const PlanRequest& request, const Plan& plan, const std::string& version) {
  const ParallelConfig& c = plan.config;
  std::string text = "#!/usr/bin/env bash\n";
  text += shell_comment(fmt::format("# {} on {} x {}, vLLM {}: {}", request.model.name, c.gpus(), request.hardware.name,
                                    version, short_text(c))) +
          "\n";
  text += fmt::format("# Predicted: TTFT {}, TPOT {}, {:.0f} output tokens/s at {:.0f} requests at once.\n",
                      format_seconds(plan.serving.ttft), format_seconds(plan.serving.tpot),
                      plan.serving.output_tokens_per_second, plan.serving.concurrency);
  text += "# Usage: ./vllm.sh [replica] [node of the replica]\n";
  return text;
}

// Which GPUs and which port a replica has.
std::string placement(const PlanRequest& request, const ParallelConfig& c) {
  const std::int64_t per_node = request.hardware.node.devices;
  const std::int64_t gpus = c.instance_gpus();
  std::string text =
      fmt::format("REPLICA=${{1:-0}}   # of {}\nNODE=${{2:-0}}      # of {}\n", c.replicas, nodes_of(request, c));
  if (gpus <= per_node) {
    const std::int64_t together = per_node / gpus;
    text += fmt::format("# {} replica{} to a node of {} GPUs: replica r runs on node r / {}.\n", together,
                        together == 1 ? "" : "s", per_node, together);
    text += fmt::format("SLOT=$((REPLICA % {}))\n", together);
    text += fmt::format("PORT=$(({} + SLOT))\n", kFirstPort);
    text += fmt::format(
        "CUDA_VISIBLE_DEVICES=$(seq -s, $((SLOT * {0})) $((SLOT * {0} + {1})))\nexport CUDA_VISIBLE_DEVICES\n", gpus,
        gpus - 1);
  } else {
    text += fmt::format("PORT={}\n: \"${{MASTER_ADDR:?address of node 0 of this replica}}\"\n", kFirstPort);
  }
  return text;
}

std::string split_text(const std::vector<std::int64_t>& split) {
  std::string text;
  for (const std::int64_t layers : split) text += (text.empty() ? "" : ",") + std::to_string(layers);
  return text;
}

std::string environment(const PlanRequest& request, const Plan& plan) {
  const ParallelConfig& c = plan.config;
  if (c.pp == 1 || plan.layer_split == require_engine("vllm").layer_split(request.model.layer_count(), c.pp)) return "";
  return "export VLLM_PP_LAYER_PARTITION=" + split_text(plan.layer_split) + "\n";
}

std::vector<std::string> notes_of_launch(const PlanRequest& request, const Plan& plan) {
  const ParallelConfig& c = plan.config;
  std::vector<std::string> notes;
  if (c.replicas > 1) {
    notes.push_back(fmt::format(
        "{} replicas are {} independent servers: start each, and put a router in front that balances requests",
        c.replicas, c.replicas));
  }
  if (nodes_of(request, c) > 1)
    notes.push_back(fmt::format("each replica runs on {} nodes: start the script on every one with its node number",
                                nodes_of(request, c)));
  if (request.model.hf_id.empty()) {
    notes.push_back(fmt::format("put the checkpoint's name or folder in place of {}", model_name(request.model)));
  }
  if (request.targets.tpot || request.targets.ttft || request.targets.e2e) {
    notes.push_back(fmt::format("the targets are met with up to {:.0f} requests at once per replica: a router, or --max-num-seqs, must hold that",
                                std::max(1.0, std::floor(plan.serving.running))));
  }
  const std::string& weights = request.model.requested_format;
  if (!weights.empty() && weights != "bf16" && !quantises_on_load(request.model)) {
    notes.push_back(fmt::format("weights in {} need a checkpoint quantised so: put its name in place of {}", weights,
                                model_name(request.model)));
  }
  if (request.model.is_moe() && all2all_backend(request, plan).rfind("deepep", 0) == 0 && c.dpa > 1) {
    notes.emplace_back("DeepEP must be installed; its low-latency kernels cap tokens per rank of one dispatch");
  }
  return notes;
}

Launch write(const PlanRequest& request, const Plan& plan, const std::string& version) {
  const bool several = nodes_of(request, plan.config) > 1;
  const ShellCommand command = serve_command(request, plan);
  std::string script = header(request, plan, version);
  Launch launch{"vllm", version, {}, command.one_line(), {}, notes_of_launch(request, plan)};
  for (const std::string& note : launch.notes) script += shell_comment("# " + note) + "\n";
  script += "set -euo pipefail\n\n" + placement(request, plan.config) + environment(request, plan);
  if (several) script += "HEADLESS=()\nif [ \"$NODE\" -gt 0 ]; then HEADLESS=(--headless); fi\n";
  script += "\nexec " + command.lines(several ? "\"${HEADLESS[@]}\"" : "") + "\n";
  launch.files.push_back({"vllm.sh", std::move(script), true});
  return launch;
}

}  // namespace

Exporter vllm_exporter() { return {"vllm", "one bash script around `vllm serve`", write}; }

}  // namespace shardplan
