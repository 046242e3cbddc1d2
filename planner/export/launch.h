// Launch files of a plan for one engine: every value explicit, nothing left to a default that may move.
//
// One row per engine. An exporter refuses, with the reason, what its engine cannot run; it never writes a file that
// does something else than what was planned.
#pragma once

#include <string>
#include <vector>

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

struct Exporter {
  const char* engine;
  const char* help;
  Launch (*write)(const PlanRequest&, const Plan&, const std::string& version);  // of a plan that its engine allows
};

[[nodiscard]] const std::vector<Exporter>& exporters();

// For `engine`, "" being the request's own or else vLLM. InputError for an engine without an exporter.
[[nodiscard]] Launch export_plan(const PlanRequest& request, const Plan& plan, const std::string& engine = "");

}  // namespace shardplan
