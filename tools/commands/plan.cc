#include "tools/commands/plan.h"

#include <optional>
#include <string>

#include "tools/cli/flag_builders.h"
#include "tools/cli/output.h"
#include "tools/documents/plan_document.h"
#include "tools/documents/plan_page.h"
#include "tools/request/ask.h"
#include "tools/request/launch_files.h"
#include "tools/request/make_request.h"
#include "tools/request/request_flags.h"
#include "tools/tables/launch_table.h"
#include "tools/tables/plan_table.h"
#include "tools/tables/pools_table.h"

namespace shardplan {
namespace {

constexpr const char* kHelp =
    "Searches every parallel layout of a model on up to --gpus GPUs and ranks those that meet the targets. Degrees and\n"
    "variants that are given stay as they are; the rest is free, and so is the concurrency unless it is given.";

}  // namespace

void run_plan(const Words& words) {
  RequestFlags flags;
  Output output;
  std::string folder;
  CommandLine line{"shardplan plan", kHelp,
                   "shardplan plan --model qwen3-235b-a22b --hardware h200-sxm --gpus 16 --isl 4096 --osl 512 --tpot-ms 40",
                   request_flags(flags), {}};
  line.groups.push_back(search_flags(flags));
  line.groups.push_back(output_flags(output));
  line.groups.back().flags.push_back(text_flag("--export", "DIR", "write the launch files of the best plan that the engine can run", folder));
  if (!parse_command_line(line, words)) return;
  check_output(output);
  const PlanRequest request = make_request(flags);
  const PlanAnswer answer = ask_plan(request, flags.search);
  const PlanResult& result = answer.result;
  const std::optional<PoolsResult>& pools = answer.pools;
  const auto chosen = choose_launch(request, result);
  const auto chosen_pools = pools ? choose_pools(request, *pools) : std::nullopt;
  if (!folder.empty() && chosen) write_launch_files(chosen->launch, folder);
  if (!folder.empty() && chosen_pools && chosen_pools->refused().empty()) {
    write_launch_files(chosen_pools->prefill, folder + "/prefill");
    write_launch_files(chosen_pools->decode, folder + "/decode");
  }
  const auto text = [&] {
    const std::string table = plan_table(request, result) + (pools ? pools_table(*pools, result) : "") +
                              launch_table(chosen, folder) + pools_launch_table(chosen_pools, folder);
    return is_page(output) ? plan_page(request, result, pools, table) : table;
  };
  deliver(output, text, [&] { return plan_document(flags, request, result, pools); });
}

}  // namespace shardplan
