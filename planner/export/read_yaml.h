// Reads YAML back: an engine's file to arguments, a Kubernetes manifest to the scripts and files that it holds.
#pragma once

#include <string>
#include <vector>

#include "planner/export/arguments.h"

namespace shardplan {

// Nested keys joined by dots, lists of numbers by commas. InputError when `text` is no YAML mapping.
[[nodiscard]] Arguments read_yaml_arguments(const std::string& text, const std::string& file);

struct ReadManifest {
  std::int64_t replicas = 0;
  std::int64_t nodes = 0;            // size of a group
  std::int64_t gpus = 0;             // of a pod
  std::vector<std::string> scripts;  // leader, worker
  std::string config;                // of the ConfigMap; empty: none
  std::vector<std::string> faults;   // what a cluster would refuse
};
[[nodiscard]] ReadManifest read_manifest(const std::string& text, const std::string& file);

}  // namespace shardplan
