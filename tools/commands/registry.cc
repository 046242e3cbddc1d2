#include "tools/commands/registry.h"

#include <algorithm>

#include "base/errors.h"
#include "base/suggest.h"
#include "tools/commands/calibrate.h"
#include "tools/commands/engines.h"
#include "tools/commands/estimate.h"
#include "tools/commands/explain.h"
#include "tools/commands/hardware.h"
#include "tools/commands/models.h"
#include "tools/commands/plan.h"
#include "tools/commands/simulate.h"
#include "tools/commands/validate.h"

namespace shardplan {

const std::vector<Command>& commands() {
  static const std::vector<Command> kCommands = {
      {"plan", "search for the best parallel configuration of a model on some GPUs", run_plan},
      {"explain", "why a plan's winner wins, and what the others failed on", run_explain},
      {"estimate", "memory, step times and serving of one configuration", run_estimate},
      {"simulate", "one configuration under single requests: a trace, or synthetic traffic", run_simulate},
      {"validate", "predictions against a table of measured serving points", run_validate},
      {"calibrate", "run the shards on this machine: proofs, measurements, fits, diagnosis", run_calibrate},
      {"models", "the models that are known, or one of them", run_models},
      {"hardware", "the machines that are known, or one of them", run_hardware},
      {"engines", "the inference engines that are known, or the rules of one", run_engines},
  };
  return kCommands;
}

const Command& require_command(const std::string& name) {
  const auto& all = commands();
  const auto found = std::find_if(all.begin(), all.end(), [&](const Command& command) { return command.name == name; });
  if (found != all.end()) return *found;
  std::vector<std::string> names;
  for (const Command& command : all) names.emplace_back(command.name);
  throw InputError(name, "unknown command", nearest_hint(name, names));
}

}  // namespace shardplan
