// vLLM V1: each step has a token budget and seats. Running requests first: a token for every decode, the next chunk for
// prompts under way; then the queue, first come first served, chunked to what is left of the budget. Out of blocks, the
// request admitted last is preempted: its blocks are freed, its tokens computed anew (what the prefix cache kept is
// not). In a step that preempts nobody is admitted. Sources: engines.md section 4.
// Wrong in one point: in V1 a prompt under way keeps its place among the decodes, here decodes always come first; they
// differ only when the budget is smaller than the seats.
#include "sim/schedulers/scheduler.h"

namespace shardplan {
namespace {

class VllmScheduler : public Scheduler {
 public:
  void plan(StepBuilder& step) const override {
    step.make_room_for_decodes();
    step.take_decodes();
    step.extend_prompts();
    step.admit_all();
  }
};

}  // namespace

std::unique_ptr<Scheduler> make_vllm_scheduler() { return std::make_unique<VllmScheduler>(); }

}  // namespace shardplan
