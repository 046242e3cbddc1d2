// Static batching, as servers did before Orca: a batch takes what is queued when the last one has ended, computes all
// prompts, then decodes until its longest output is done; newcomers wait. A baseline. Kinder than the original, whose
// ended requests kept their rows as padding.
#include "sim/schedulers/scheduler.h"

namespace shardplan {
namespace {

class StaticScheduler : public Scheduler {
 public:
  [[nodiscard]] bool reserves_output() const override { return true; }
  void plan(StepBuilder& step) const override {
    std::int64_t& forming = step.group().steps_waited;
    if (step.group().seated == 0) forming = 1;
    step.extend_prompts();
    if (forming == 1) step.admit_all();
    // The batch is complete when nobody is left who would have a seat.
    if (step.head() == nullptr || step.seats_left() < 1 || !step.planned_chunks()) forming = 0;
    if (step.planned_chunks() || !step.group().prefilling.empty()) return;
    step.take_decodes();
  }
};

}  // namespace

std::unique_ptr<Scheduler> make_static_scheduler() { return std::make_unique<StaticScheduler>(); }

}  // namespace shardplan
