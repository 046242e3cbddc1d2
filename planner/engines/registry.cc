#include <fmt/format.h>

#include <string>
#include <vector>

#include "base/errors.h"
#include "base/suggest.h"
#include "planner/engines/engines.h"

namespace shardplan {

const std::vector<Engine>& engines() {
  static const std::vector<Engine> table{neutral_engine(), vllm_engine(), sglang_engine(), trtllm_engine(),
                                         rtp_llm_engine()};
  return table;
}

const Engine& require_engine(const std::string& name) {
  if (name.empty()) return engines().front();
  std::vector<std::string> names;
  for (const Engine& engine : engines()) {
    if (name == engine.name) return engine;
    names.emplace_back(engine.name);
  }
  throw InputError("--engine", "unknown engine '" + name + "'", nearest_hint(name, names));
}

std::vector<std::string> with_generated_experts(bool has_them, std::vector<std::string> libraries) {
  if (has_them) libraries.emplace_back("min_latency");
  return libraries;
}

DeviceOrder engine_order(const Engine& engine, const ParallelConfig& config) {
  return config.pp > 1 && config.dpa > 1 ? engine.device_order : DeviceOrder::kStageMajor;
}

std::string version_note(const Engine& engine, const std::string& version) {
  const Version asked = parse_version(version);
  if (version.empty() || *engine.newest_version == '\0') return "";
  const bool old = asked < parse_version(engine.oldest_version);
  // A later patch of the newest known release is that release.
  const Version newest = parse_version(engine.newest_version);
  const bool young = Version{asked.major, asked.minor, 0} > Version{newest.major, newest.minor, 0};
  if (!old && !young) return "";
  return fmt::format("the rules of {} were read from {} to {}: {} is planned as {}, check its flags and defaults",
                     engine.name, engine.oldest_version, engine.newest_version, version,
                     old ? engine.oldest_version : engine.newest_version);
}

}  // namespace shardplan
