// Launch files of a plan for one engine: every value explicit, nothing left to a default that may move.
//
// One row per engine: its arguments from a plan, the configuration back from arguments, its table of flags. The syntax
// (scripts, YAML, Kubernetes manifests) is common to all. An exporter refuses, with the reason, what its engine cannot
// run; it never writes a file that does something else than what was planned.
#pragma once

#include <string>
#include <vector>

#include "planner/export/arguments.h"
#include "planner/export/flag_table.h"
#include "planner/plan.h"

namespace shardplan {

struct LaunchFile {
  std::string name;  // "vllm.sh"
  std::string content;
  bool executable = false;
};

struct Launch {
  std::string engine;
  std::string engine_version;
  std::vector<LaunchFile> files;   // empty when refused
  std::string command;             // the command of the first rank, on one line
  std::string refused;             // why this engine cannot run the plan; empty when it can
  std::vector<std::string> notes;  // what the operator has to do beside
};

// One replica in an engine's own words. Values may name PORT, NODE (of the replica, from 0) and MASTER_ADDR.
struct EngineLaunch {
  std::vector<std::string> program;  // {"vllm", "serve", model}
  Arguments command;
  Arguments environment;
  Arguments config;                       // keys of a YAML file; empty: no file
  std::string config_flag;                // names that file on the command line
  std::vector<std::string> worker_flags;  // of nodes beyond the first
  bool under_mpi = false;                 // node 0 starts all ranks
  bool under_ray = false;                 // likewise, over a Ray cluster that is there
  std::string image;                      // container
  std::vector<std::string> notes;
};

struct Exporter {
  const char* engine;
  const char* help;
  const char* program;  // the command before its flags: "vllm serve *", the star being the model
  EngineLaunch (*write)(const PlanRequest&, const Plan&, const std::string& version);  // of a plan that is legal for it
  // The configuration that arguments (command, environment and config together) describe; replicas are not in them.
  ParallelConfig (*read)(const Arguments&, const ModelSpec&);
  const std::vector<FlagRow>& (*flags)();
  // What one side of a pair of pools is told beside; nullptr: no launch files for pools.
  void (*add_role)(const PlanRequest&, EngineLaunch&);
  // Values that are legal alone and not together, in the engine's words.
  std::vector<std::string> (*conflicts)(const Arguments&);
};

[[nodiscard]] const std::vector<Exporter>& exporters();
// InputError, nearest named, for an engine without launch files.
[[nodiscard]] const Exporter& require_exporter(const std::string& engine);

// For `engine`, "" being the request's own or else vLLM. InputError for an engine without an exporter.
[[nodiscard]] Launch export_plan(const PlanRequest& request, const Plan& plan, const std::string& engine = "");

}  // namespace shardplan
