#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/errors.h"
#include "base/suggest.h"
#include "planner/deployment.h"
#include "planner/export/exporters.h"
#include "planner/export/manifest.h"
#include "planner/export/placement.h"
#include "planner/export/script.h"
#include "planner/export/yaml.h"

namespace shardplan {
namespace {

void add_files(const PlanRequest& request, const Plan& plan, const EngineLaunch& engine, Launch& launch) {
  launch.notes = engine.notes;
  const std::int64_t nodes = nodes_of(request, plan.config);
  if (nodes > 1 && engine.under_mpi)
    launch.notes.push_back("each replica runs on " + std::to_string(nodes) +
                           " nodes: start the script on the first, which reaches the others over ssh");
  else if (nodes > 1 && engine.under_ray)
    launch.notes.emplace_back("no manifest of a group of nodes: its size is fixed, and it would have to start Ray");
  else if (nodes > 1)
    launch.notes.push_back("each replica runs on " + std::to_string(nodes) +
                           " nodes: start the script on every one with its node number");
  launch.command = command_text(engine, "", true);
  launch.files.push_back(launch_script(request, plan, launch, engine));
  if (!engine.config.empty()) launch.files.push_back({launch.engine + ".yaml", yaml_mapping(engine.config), false});
  if (nodes > 1 && !engine.under_ray) launch.files.push_back(leader_worker_set(request, plan, launch, engine));
}

}  // namespace

const std::vector<Exporter>& exporters() {
  static const std::vector<Exporter> table{vllm_exporter(), sglang_exporter(), trtllm_exporter(), rtp_llm_exporter()};
  return table;
}

const Exporter& require_exporter(const std::string& engine) {
  std::vector<std::string> names;
  for (const Exporter& exporter : exporters()) {
    if (engine == exporter.engine) return exporter;
    names.emplace_back(exporter.engine);
  }
  throw InputError("--engine", "no launch files for '" + engine + "'", nearest_hint(engine, names));
}

Launch export_plan(const PlanRequest& request, const Plan& plan, const std::string& engine) {
  const Engine& own = engine_of(request);
  const std::string name = !engine.empty() ? engine : own.exports ? own.name : exporters().front().engine;
  const Exporter& exporter = require_exporter(name);
  const Engine& target = require_engine(name);
  const std::string version = name == own.name ? version_of(request) : target.default_version;
  Launch launch{name, version, {}, {}, {}, {}};
  // Memory, limits and widths in the words of the engine that runs it.
  PlanRequest asked = request;
  asked.engine = &target;
  asked.engine_version = version;
  Plan runs = plan;
  runs.config = target.settled(request.model, plan.config);
  const auto violations = target.check(request.model, runs.config, request.hardware, version, request.role);
  if (!violations.empty())
    launch.refused = violations.front().message;
  else if (!plan.ledger.fits)
    launch.refused = plan.ledger.misfit;
  else if (request.role != PoolRole::kServe && exporter.add_role == nullptr)
    launch.refused = "launch files for pools of prompts and answers are not written for it";
  if (!launch.refused.empty()) return launch;
  EngineLaunch engine_launch = exporter.write(asked, runs, version);
  if (request.role != PoolRole::kServe) exporter.add_role(asked, engine_launch);
  add_files(asked, runs, engine_launch, launch);
  if (runs.config != plan.config)
    launch.notes.push_back(
        fmt::format("{} decides widths of FFNs or the order of ranks otherwise than this plan: ask with --engine {} "
                    "for its own prediction",
                    name, name));
  return launch;
}

}  // namespace shardplan
