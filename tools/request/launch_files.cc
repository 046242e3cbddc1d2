#include "tools/request/launch_files.h"

#include <filesystem>
#include <system_error>

#include "base/errors.h"
#include "base/file.h"
#include "planner/disaggregation/pool_side.h"

namespace shardplan {

std::optional<ChosenLaunch> choose_launch(const PlanRequest& request, const PlanResult& result) {
  std::optional<ChosenLaunch> chosen;
  for (std::size_t i = 0; i < result.plans.size(); ++i) {
    Launch launch = export_plan(request, result.plans[i]);
    if (launch.refused.empty()) return ChosenLaunch{i + 1, std::move(launch), chosen ? chosen->launch.refused : ""};
    if (!chosen) chosen = ChosenLaunch{1, std::move(launch), ""};
  }
  return chosen;
}

std::optional<ChosenPools> choose_pools(const PlanRequest& request, const PoolsResult& result) {
  std::optional<ChosenPools> first;
  for (std::size_t i = 0; i < result.plans.size(); ++i) {
    const PoolsPlan& plan = result.plans[i];
    ChosenPools chosen{i + 1, export_plan(prefill_request(request), plan.prefill.plan), export_plan(decode_request(request), plan.decode.plan)};
    if (chosen.refused().empty()) return chosen;
    if (!first) first = std::move(chosen);
  }
  return first;
}

void write_launch_files(const Launch& launch, const std::string& folder) {
  namespace fs = std::filesystem;
  std::error_code error;
  if (!fs::is_directory(folder, error) && !fs::create_directory(folder, error)) {
    throw InputError("--export", "\"" + folder + "\" is no folder and cannot be made", "a folder in one that exists");
  }
  for (const LaunchFile& file : launch.files) {
    const fs::path path = fs::path(folder) / file.name;
    write_file_atomically(path.string(), file.content);
    if (!file.executable) continue;
    const auto everybody = fs::perms::owner_exec | fs::perms::group_exec | fs::perms::others_exec;
    fs::permissions(path, everybody, fs::perm_options::add, error);
  }
}

}  // namespace shardplan
