#include <fmt/format.h>

#include "base/errors.h"
#include "base/suggest.h"
#include "sim/schedulers/scheduler.h"

namespace shardplan {

const std::vector<SchedulerRow>& schedulers() {
  static const std::vector<SchedulerRow> kRows = {
      {"vllm", "V1: decodes first, then prompts in chunks up to the token budget; preempts the last, recomputes", make_vllm_scheduler},
      {"sglang", "prompts first, a step is all prompts or all decodes; retracts the last decodes when the cache is full", make_sglang_scheduler},
      {"trtllm", "decodes beside whole prompts, blocks of the whole output reserved: never evicts; can hold prompts back", make_trtllm_scheduler},
      {"trtllm_max_utilization", "as trtllm, but admits what the cache holds now and pauses the last request when it is full", make_trtllm_utilization_scheduler},
      {"sarathi", "Sarathi-Serve: decodes, then chunks up to the budget, the order that V1 took over", make_vllm_scheduler},
      {"orca", "iteration-level batching: decodes beside whole prompts whatever their length, output reserved", make_orca_scheduler},
      {"static", "a batch is formed when the last one has ended: all prompts, then all decodes", make_static_scheduler},
  };
  return kRows;
}

std::unique_ptr<Scheduler> make_scheduler(const std::string& name) {
  std::vector<std::string> names;
  for (const SchedulerRow& row : schedulers()) {
    if (name == row.name) return row.make();
    names.emplace_back(row.name);
  }
  throw InputError("scheduler", fmt::format("'{}' is not known", name), nearest_hint(name, names));
}

}  // namespace shardplan
