// An inference engine as data: what it can run, how it lays out ranks and layers, what it adds to the kernels.
//
// One file and one row per engine (planner/engines/). Legality is a table of rules (planner/rules.h: id, version
// range, severity, message), never code spread over the planner; `neutral` is no engine at all: only the algebra's
// own rules.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/quantity.h"
#include "costmodel/ledger.h"
#include "costmodel/lowering/registry.h"
#include "costmodel/parallel_config.h"
#include "costmodel/step_price.h"
#include "hwprofiles/profile.h"
#include "models/model_spec.h"
#include "planner/engine_times.h"

namespace shardplan {

struct EngineRule;
enum class PoolRole : std::uint8_t;

struct SchedulerDefaults {
  std::int64_t max_batched_tokens = 8192;  // tokens of one step
  std::int64_t max_sequences = 1024;       // running at once, per attention group
  bool chunked_prefill = true;
  bool reserves_output = false;            // admission counts the whole output of a request
};

struct Engine {
  const char* name;  // "vllm", "neutral"
  const char* help;
  const char* default_version;
  // Legality beyond the algebra's, in the order in which violations are told.
  const std::vector<EngineRule>& (*rules)();
  std::vector<std::int64_t> (*layer_split)(std::int64_t layers, std::int64_t stages);
  EngineMemory (*memory)(const ModelSpec&, const ParallelConfig&, const HardwareProfile&, const std::string& version);
  SchedulerDefaults (*scheduler)(const ModelSpec&, const ParallelConfig&, const HardwareProfile&);
  // Whether a launch file can be written.
  bool exports;
  // Rank layout: how stages lie between attention groups.
  DeviceOrder device_order = DeviceOrder::kStageMajor;
  // Fills in what the engine decides itself and a user does not set: widths of dense FFNs and shared experts that are
  // left at 0, the order of ep and moe_tp. nullptr: nothing.
  ParallelConfig (*settle)(const ModelSpec&, ParallelConfig) = nullptr;
  // Whose kernels it runs where a profile tells libraries apart (KernelOptions::libraries). nullptr: the plain rows.
  std::vector<std::string> (*kernel_libraries)(const std::string& version) = nullptr;
  // All-reduces that it runs as one kernel with the norm behind them. nullptr: none.
  FusedAllReduce (*fused_all_reduce)(const ModelSpec&, const ParallelConfig&, const HardwareProfile&, const std::string& version) = nullptr;
  // Of --symmetric-memory: the groups that register their buffers, from so many ranks on (0: it cannot), and what a rank
  // sets aside for them.
  int symmetric_from_ranks = 0;
  Bytes symmetric_pool;
  // The engine's release inside a container that is tagged otherwise; "" where `tag` is a release of its own. nullptr: all are.
  std::string (*release_inside)(const std::string& tag) = nullptr;
  // What was run from a month on, oldest first; of points that name a day and no release.
  struct Release { const char* month; const char* version; };
  std::vector<Release> releases = {};
  // What the rules were read from; a version outside is taken as the nearest, with a note.
  const char* oldest_version = "";
  const char* newest_version = "";

  // The release that was run on a day, "2025-10-29"; "" before the first that is known, and for no day.
  [[nodiscard]] std::string release_at(const std::string& day) const;
  [[nodiscard]] std::string release_of(const std::string& tag) const {
    const std::string inside = release_inside == nullptr ? "" : release_inside(tag);
    return inside.empty() ? tag : inside;
  }

  // `config` as this engine would run it.
  [[nodiscard]] ParallelConfig settled(const ModelSpec& model, const ParallelConfig& config) const {
    return settle == nullptr ? config : settle(model, config);
  }

  // Violations of a neutral-legal configuration under this engine's rules; "" is the default version.
  [[nodiscard]] std::vector<Violation> check(const ModelSpec& model, const ParallelConfig& config,
                                             const HardwareProfile& hardware, const std::string& version,
                                             PoolRole role = {}) const;
  // Legal, but worth a word: rules of severity `warning`.
  [[nodiscard]] std::vector<Violation> warnings(const ModelSpec& model, const ParallelConfig& config,
                                                const HardwareProfile& hardware, const std::string& version) const;
};

// How the engine numbers the ranks of `config`: its own order where stages and attention groups both exist.
[[nodiscard]] DeviceOrder engine_order(const Engine& engine, const ParallelConfig& config);
// What to say of a version that the rules were not read from; "" inside the known range. InputError when no version.
[[nodiscard]] std::string version_note(const Engine& engine, const std::string& version);

[[nodiscard]] const std::vector<Engine>& engines();
// "" gives neutral; InputError naming the nearest engine otherwise.
[[nodiscard]] const Engine& require_engine(const std::string& name);

}  // namespace shardplan
