// Orca (OSDI 2022): requests join and leave at every iteration. Decodes and whole prompts share a step, and blocks for
// the whole output are reserved at admission, as its cache of contiguous slots did. Give it chunked_prefill = false and
// a large token budget: its only limit is the number of requests. A baseline: long prompts stall every decode.
#include "sim/schedulers/scheduler.h"

namespace shardplan {
namespace {

class OrcaScheduler : public Scheduler {
 public:
  [[nodiscard]] bool reserves_output() const override { return true; }
  void plan(StepBuilder& step) const override {
    step.take_decodes();
    step.extend_prompts();
    step.admit_all();
  }
};

}  // namespace

std::unique_ptr<Scheduler> make_orca_scheduler() { return std::make_unique<OrcaScheduler>(); }

}  // namespace shardplan
