// SGLang: prompts first. While there is a prompt to compute or one to admit, a step is all prompts (the token budget is
// its chunk size); otherwise all decodes. With mixed chunks decodes take part in every step and count in its budget. When the cache is full decodes are retracted, the last first, and queue again
// at the front. Sources: engines.md section 4.
// Wrong: SGLang holds admission back by an estimate of the output to come (new_token_ratio); here the prompt must fit.
#include "sim/schedulers/scheduler.h"

namespace shardplan {
namespace {

class SglangScheduler : public Scheduler {
 public:
  void plan(StepBuilder& step) const override {
    if (step.limits().mixed_chunk) {
      step.make_room_for_decodes();
      step.take_decodes();
      step.extend_prompts();
      step.admit_all();
      return;
    }
    step.extend_prompts();
    step.admit_all();
    if (step.planned_chunks()) return;
    step.make_room_for_decodes();
    step.take_decodes();
  }
};

}  // namespace

std::unique_ptr<Scheduler> make_sglang_scheduler() { return std::make_unique<SglangScheduler>(); }

}  // namespace shardplan
