#include "tools/commands/calibrate.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/errors.h"
#include "base/suggest.h"
#include "tools/cli/standard_output.h"
#include "tools/commands/calibrate/check.h"
#include "tools/commands/calibrate/doctor.h"
#include "tools/commands/calibrate/fit.h"
#include "tools/commands/calibrate/run.h"
#include "tools/commands/calibrate/steps.h"

namespace shardplan {
namespace {

const std::vector<Command>& subcommands() {
  static const std::vector<Command> kSubcommands = {
      {"check", "run every sharding of small models and hold it against the unsharded one", run_calibrate_check},
      {"run", "measure what a plan's steps consist of, shape by shape", run_calibrate_run},
      {"fit", "make coefficients of what was measured", run_calibrate_fit},
      {"steps", "measure whole steps and hold them against their price", run_calibrate_steps},
      {"doctor", "say what is wrong with a fabric, from logs and measurements", run_calibrate_doctor},
  };
  return kSubcommands;
}

std::string overview() {
  std::string text =
      "Runs the step graphs that are priced elsewhere, on this machine's ranks.\n\n"
      "Usage: shardplan calibrate SUBCOMMAND [flags]\n\nSubcommands:\n";
  for (const Command& command : subcommands()) text += fmt::format("  {:<10} {}\n", command.name, command.help);
  return text + "\nExample:\n  shardplan calibrate check --backend host --ranks 4\n";
}

}  // namespace

void run_calibrate(const Words& words) {
  if (words.empty() || words.front() == "--help" || words.front() == "-h") return write_standard_output(overview());
  const auto& all = subcommands();
  const auto found = std::find_if(all.begin(), all.end(), [&](const Command& command) { return command.name == words.front(); });
  if (found != all.end()) return found->run(Words(words.begin() + 1, words.end()));
  std::vector<std::string> names;
  for (const Command& command : all) names.emplace_back(command.name);
  throw InputError("calibrate " + words.front(), "unknown subcommand", nearest_hint(words.front(), names));
}

}  // namespace shardplan
