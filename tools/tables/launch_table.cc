#include "tools/tables/launch_table.h"

#include <fmt/format.h>

namespace shardplan {
namespace {

std::string files_line(const Launch& launch, const std::string& folder) {
  std::string names;
  for (const LaunchFile& file : launch.files) names += (names.empty() ? "" : ", ") + (folder.empty() ? file.name : folder + "/" + file.name);
  return folder.empty() ? fmt::format("  (--export DIR writes {})\n", names) : fmt::format("  written: {}\n", names);
}

}  // namespace

std::string launch_table(const std::optional<ChosenLaunch>& chosen, const std::string& folder) {
  if (!chosen) return "";
  const Launch& launch = chosen->launch;
  const std::string engine = fmt::format("{} {}", launch.engine, launch.engine_version);
  if (!launch.refused.empty()) return fmt::format("\nNo launch file: {} cannot run plan 1: {}\n", engine, launch.refused);
  std::string text = "\n";
  if (!chosen->best_refused.empty()) text += fmt::format("{} cannot run plan 1: {}\n", engine, chosen->best_refused);
  text += fmt::format("Launch of plan {} on {}:\n  {}\n", chosen->rank, engine, launch.command);
  for (const std::string& note : launch.notes) text += "  note: " + note + "\n";
  return text + files_line(launch, folder);
}

}  // namespace shardplan
