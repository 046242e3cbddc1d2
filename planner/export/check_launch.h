// Checks launch files against an engine's flags: what our exporters write, and what people change in it.
//
// A file is read back to arguments (bash scripts by their exports and the command they exec; YAML; Kubernetes manifests
// by the scripts and files in them). Accepted is what an engine's table of flags knows, with values of the right kind
// in its version, without contradictions between flags, and with a configuration that is legal for the model.
#pragma once

#include <string>
#include <vector>

#include "planner/export/launch.h"
#include "planner/rules.h"

namespace shardplan {

struct LaunchFinding {
  std::string file;
  std::string message;
};

struct LaunchCheck {
  std::string engine;
  std::string version;
  const ModelSpec& model;
  const HardwareProfile& hardware;
  PoolRole role = PoolRole::kServe;
};

// What is wrong; empty when the engine would take the files. Scripts, manifests and YAML files of one launch are read
// together: the YAML file holds the keys of the command beside it.
[[nodiscard]] std::vector<LaunchFinding> check_launch(const LaunchCheck& check, const std::vector<LaunchFile>& files);

// The arguments of a launch: of its script and of the YAML file beside it. InputError for a text that is neither.
[[nodiscard]] Arguments read_launch(const Exporter& exporter, const std::vector<LaunchFile>& files);

}  // namespace shardplan
