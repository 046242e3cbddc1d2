// TensorRT-LLM with the default GUARANTEED_NO_EVICT: a request is admitted when the cache has room for all of its output,
// so that none is ever evicted; decodes and prompts share steps, prompts whole unless chunking is on. With a batching
// wait (batch_wait_timeout_iters, batch_wait_max_tokens_ratio) prompts are held back beside running decodes until
// enough tokens are queued or so many steps have passed. MAX_UTILIZATION reserves nothing: a full cache pauses the request
// admitted last, which is computed anew. Sources: engines.md section 4, serving_protocols.md section 5.
#include "sim/schedulers/scheduler.h"

namespace shardplan {
namespace {

class TrtllmScheduler : public Scheduler {
 public:
  explicit TrtllmScheduler(bool reserves) : reserves_(reserves) {}
  [[nodiscard]] bool reserves_output() const override { return reserves_; }

  void plan(StepBuilder& step) const override {
    if (!reserves_) step.make_room_for_decodes();
    step.take_decodes();
    step.extend_prompts();
    if (holds(step)) return;
    step.group().steps_waited = 0;
    step.admit_all();
  }

 private:
  static bool holds(StepBuilder& step) {
    if (step.limits().hold_steps == 0 || step.decodes() == 0 || step.head() == nullptr || !step.could_admit()) return false;
    if (step.group().steps_waited >= step.limits().hold_steps) return false;
    const auto enough = static_cast<std::int64_t>(step.limits().hold_ratio * static_cast<double>(step.limits().max_batched_tokens));
    if (step.decodes() + step.queued_tokens(enough) >= enough) return false;
    ++step.group().steps_waited;
    step.unsteady();
    return true;
  }

  bool reserves_;
};

}  // namespace

std::unique_ptr<Scheduler> make_trtllm_scheduler() { return std::make_unique<TrtllmScheduler>(true); }
std::unique_ptr<Scheduler> make_trtllm_utilization_scheduler() { return std::make_unique<TrtllmScheduler>(false); }

}  // namespace shardplan
