#include "tools/tables/launch_table.h"

#include <fmt/format.h>

#include <utility>

namespace shardplan {
namespace {

std::string files_line(const Launch& launch, const std::string& folder, bool written) {
  std::string names;
  for (const LaunchFile& file : launch.files) names += (names.empty() ? "" : ", ") + (folder.empty() ? file.name : folder + "/" + file.name);
  return written ? fmt::format("  written: {}\n", names) : fmt::format("  (--export DIR writes {})\n", names);
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
  return text + files_line(launch, folder, !folder.empty());
}

std::string pools_launch_table(const std::optional<ChosenPools>& chosen, const std::string& folder) {
  if (!chosen) return "";
  const std::string engine = fmt::format("{} {}", chosen->prefill.engine, chosen->prefill.engine_version);
  if (!chosen->refused().empty()) return fmt::format("\nNo launch files of pools: {}: {}\n", engine, chosen->refused());
  std::string text;
  for (const auto& [name, launch] : {std::pair{"prefill", &chosen->prefill}, std::pair{"decode", &chosen->decode}}) {
    text += fmt::format("\nLaunch of the {} pool of pair {} on {}:\n  {}\n", name, chosen->rank, engine, launch->command);
    for (const std::string& note : launch->notes) text += "  note: " + note + "\n";
    text += files_line(*launch, (folder.empty() ? "" : folder + "/") + name, !folder.empty());
  }
  return text;
}

}  // namespace shardplan
