#include "planner/export/script.h"

#include <fmt/format.h>

#include "base/units.h"
#include "planner/deployment.h"
#include "planner/export/placement.h"
#include "planner/export/shell.h"

namespace shardplan {
namespace {

std::string header(const PlanRequest& request, const Plan& plan, const Launch& launch, const EngineLaunch& engine) {
  const ParallelConfig& c = plan.config;
  std::string text = "#!/usr/bin/env bash\n";
  text += shell_comment(fmt::format("# {} on {} x {}, {} {}: {}", request.model.name, c.gpus(), request.hardware.name,
                                    launch.engine, launch.engine_version, short_text(c))) +
          "\n";
  text += fmt::format("# Predicted: TTFT {}, TPOT {}, {:.0f} output tokens/s at {:.0f} requests at once.\n",
                      format_seconds(plan.serving.ttft), format_seconds(plan.serving.tpot),
                      plan.serving.output_tokens_per_second, plan.serving.concurrency);
  if (engine.under_mpi)
    return text + fmt::format("# Usage: HOSTS=node0:{0},node1:{0},.. ./{1}.sh [replica], on node 0 of the replica\n",
                              gpus_per_node(request, c), launch.engine);
  const bool several = nodes_of(request, c) > 1;
  return text + fmt::format("# Usage: {}./{}.sh [replica]{}\n", several ? "MASTER_ADDR=<address of node 0> " : "",
                            launch.engine,
                            !several           ? ""
                            : engine.under_ray ? ", on node 0 of the replica"
                                               : " [node of the replica], on every node of it");
}

// Which GPUs and which port a replica inside a node has.
std::string slot(const PlanRequest& request, const ParallelConfig& c) {
  const std::int64_t per_node = request.hardware.node.devices;
  const std::int64_t gpus = c.instance_gpus();
  const std::int64_t together = per_node / gpus;
  if (together == 1 && gpus == per_node) return fmt::format("PORT={}\n", kFirstPort);
  std::string text = fmt::format("# {} replica{} to a node of {} GPUs: replica r runs on node r / {}.\n", together,
                                 together == 1 ? "" : "s", per_node, together);
  text += fmt::format("SLOT=$((REPLICA % {}))\nPORT=$(({} + 100 * SLOT))\n", together, kFirstPort);
  return text +
         fmt::format(
             "CUDA_VISIBLE_DEVICES=$(seq -s, $((SLOT * {0})) $((SLOT * {0} + {1})))\nexport CUDA_VISIBLE_DEVICES\n",
             gpus, gpus - 1);
}

std::string placement(const PlanRequest& request, const ParallelConfig& c, const EngineLaunch& engine) {
  std::string text = fmt::format("REPLICA=${{1:-0}}   # of {}\n", c.replicas);
  if (nodes_of(request, c) == 1) return text + "NODE=0\n" + slot(request, c);
  if (engine.under_mpi)
    return text + fmt::format("PORT={}\n: \"${{HOSTS:?hosts of this replica with their GPUs, such as node0:{}}}\"\n",
                              kFirstPort, gpus_per_node(request, c));
  if (!engine.under_ray) text += fmt::format("NODE=${{2:-0}}      # of {}\n", nodes_of(request, c));
  text += fmt::format("PORT={}\n", kFirstPort);
  return text + ": \"${MASTER_ADDR:?address of node 0 of this replica}\"\n";
}

}  // namespace

std::string environment_text(const EngineLaunch& engine) {
  std::string text;
  for (const EngineArgument& a : engine.environment.list())
    text += fmt::format("export {}={}\n", a.name, a.is_expression ? a.value : shell_word(a.value));
  return text;
}

std::string command_text(const EngineLaunch& engine, const std::string& tail, bool one_line) {
  ShellCommand command(engine.program);
  for (const EngineArgument& a : engine.command.list()) {
    if (a.is_switch)
      command.flag(a.name);
    else if (a.is_expression)
      command.raw_option(a.name, a.value);
    else
      command.option(a.name, a.value);
  }
  if (!engine.config_flag.empty()) command.raw_option(engine.config_flag, "\"$CONFIG\"");
  return one_line ? command.one_line() : command.lines(tail);
}

std::string mpi_prefix(const EngineLaunch& engine, std::int64_t ranks) {
  std::string text = fmt::format("mpirun --allow-run-as-root -np {} --host \"$HOSTS\"", ranks);
  for (const EngineArgument& a : engine.environment.list()) text += " -x " + a.name;
  return text + " trtllm-llmapi-launch ";
}

LaunchFile launch_script(const PlanRequest& request, const Plan& plan, const Launch& launch,
                         const EngineLaunch& engine) {
  const ParallelConfig& c = plan.config;
  const bool headless = nodes_of(request, c) > 1 && !engine.under_ray && !engine.worker_flags.empty();
  std::string script = header(request, plan, launch, engine);
  for (const std::string& note : launch.notes) script += shell_comment("# " + note) + "\n";
  script += "set -euo pipefail\n\n" + placement(request, c, engine) + environment_text(engine);
  if (!engine.config.empty())
    script += fmt::format("CONFIG=\"$(cd \"$(dirname \"$0\")\" && pwd)/{}.yaml\"   # at the same path on every node\n",
                          launch.engine);
  if (headless) {
    script += fmt::format("WORKER=()\nif [ \"$NODE\" -gt 0 ]; then WORKER=({}); fi\n", engine.worker_flags.front());
  }
  script += "\nexec " + (engine.under_mpi ? mpi_prefix(engine, c.instance_gpus()) : std::string()) +
            command_text(engine, headless ? "\"${WORKER[@]}\"" : "", false) + "\n";
  return {launch.engine + ".sh", std::move(script), true};
}

}  // namespace shardplan
