// Which models, degrees and steps a calibration asks about.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "calibrate/run/node_case.h"
#include "tools/cli/flag.h"

namespace shardplan {

struct StepSetFlags {
  std::vector<std::string> models;
  std::vector<std::int64_t> tp{1};
  std::vector<std::int64_t> batches{1, 4, 16, 64};
  std::vector<std::int64_t> contexts{256};
  std::vector<std::int64_t> prefill;
  bool grid = false;
};
[[nodiscard]] FlagGroup step_set_flags(StepSetFlags& flags);
// InputError for a model that is not known, or none.
[[nodiscard]] RunPlan make_run_plan(const StepSetFlags& flags);
// InputError for a degree that a model does not allow, or that is more than `ranks` (nullopt: shards are measured
// alone).
void check_degrees(const StepSetFlags& flags, const RunPlan& plan, std::optional<std::int64_t> ranks);
// A small model by its name, else as everywhere: catalog name, config.json, folder.
[[nodiscard]] ModelSpec load_small_or_catalog_model(const std::string& name);

}  // namespace shardplan
