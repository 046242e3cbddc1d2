// What an engine's scheduler decides: which tokens the next step of a batch processes.
//
// One file and one row per scheduler. `plan` is called at every step boundary of a lane, for every attention group, and
// works through StepBuilder, which keeps blocks, seats and budgets right whatever the policy does.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "sim/schedulers/step_builder.h"

namespace shardplan {

class Scheduler {
 public:
  virtual ~Scheduler() = default;
  virtual void plan(StepBuilder& step) const = 0;
  // Whether a request takes all the blocks it will ever need when it is admitted.
  [[nodiscard]] virtual bool reserves_output() const { return false; }
};

struct SchedulerRow {
  const char* name;
  const char* help;
  std::unique_ptr<Scheduler> (*make)();
};

[[nodiscard]] const std::vector<SchedulerRow>& schedulers();
// InputError naming the nearest scheduler otherwise.
[[nodiscard]] std::unique_ptr<Scheduler> make_scheduler(const std::string& name);

// Makers of the table's rows, one file each.
[[nodiscard]] std::unique_ptr<Scheduler> make_vllm_scheduler();
[[nodiscard]] std::unique_ptr<Scheduler> make_sglang_scheduler();
[[nodiscard]] std::unique_ptr<Scheduler> make_trtllm_scheduler();
[[nodiscard]] std::unique_ptr<Scheduler> make_trtllm_utilization_scheduler();
[[nodiscard]] std::unique_ptr<Scheduler> make_orca_scheduler();
[[nodiscard]] std::unique_ptr<Scheduler> make_static_scheduler();

}  // namespace shardplan
