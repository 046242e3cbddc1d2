// The verbs a scheduler has: let the decodes run, extend a prompt, admit a request, preempt the last.
//
// Every verb keeps the books: blocks are taken before tokens are scheduled, seats and the token budget never go
// negative. `steady` tells whether, if nothing arrives or ends, the next plan would be the same decodes again: then the
// instance may take many such steps at once.
#pragma once

#include <cstdint>

#include "sim/group.h"

namespace shardplan {

struct SchedulerLimits {
  std::int64_t max_batched_tokens = 8192;   // of a step of one group
  std::int64_t max_sequences = 256;         // seats of a group
  bool chunked_prefill = true;
  bool admit_full_prompt = true;            // vLLM's scheduler_reserve_full_isl: admit only when the whole prompt fits
  bool mixes = true;                        // decode and prompt tokens may share a step
  std::int64_t long_prompt_tokens = 0;      // most tokens of one prompt in a step; 0: no limit
  std::int64_t hold_steps = 0;              // TensorRT-LLM's batching wait, in steps; 0: none
  double hold_ratio = 0.9;                  // of max_batched_tokens: enough to stop waiting
  bool mixed_chunk = false;                 // SGLang's enable_mixed_chunk: decodes join a step of prompts
  // TensorRT-LLM's attention-DP balance (timeout_iters): steps that prompts wait until every group has one; 0: none.
  std::int64_t balance_steps = 0;
};

struct PlanCounters {
  std::int64_t preemptions = 0;
  std::int64_t recomputed_tokens = 0;       // thrown away by preemptions
};

class StepBuilder {
 public:
  struct Context {
    RequestTable& table;
    Group& group;
    Batch& batch;
    const SchedulerLimits& limits;
    PlanCounters& counters;
    SimTime now;
    SimTime visible_until;                  // requests queued later are not seen yet
    bool reserves_output = false;
    bool holds_prompts = false;             // nobody is admitted in this step
  };
  explicit StepBuilder(const Context& context);

  [[nodiscard]] const SchedulerLimits& limits() const { return c_.limits; }
  [[nodiscard]] Group& group() { return c_.group; }
  [[nodiscard]] std::int64_t tokens_left() const { return tokens_left_; }
  [[nodiscard]] std::int64_t seats_left() const { return c_.limits.max_sequences - c_.group.seated; }
  [[nodiscard]] std::int64_t decodes() const { return c_.batch.decodes.size(); }
  [[nodiscard]] bool planned_chunks() const { return !c_.batch.chunks.empty(); }

  // Preempts the members that joined last until the others have blocks for their next token.
  void make_room_for_decodes();
  // The decodes run in this step. Precondition: there is room for them.
  void take_decodes();

  // Prompts under way, in order of admission.
  [[nodiscard]] RequestSlot first_prompt() const { return c_.group.prefilling.head; }
  [[nodiscard]] RequestSlot next_prompt(RequestSlot prompt) const { return c_.table[prompt].next; }
  [[nodiscard]] std::int64_t left_of(RequestSlot prompt) const { return c_.table[prompt].left_to_schedule(); }
  // Schedules tokens of it; false when blocks lack. Precondition: 1 <= tokens <= min(left_of, tokens_left).
  [[nodiscard]] bool extend(RequestSlot prompt, std::int64_t tokens);
  // All prompts under way up to the budget; prompts behind one that lacks blocks are preempted for it.
  void extend_prompts();
  // Preempts the prompt admitted last, unless a chunk of it is under way; kNoRequest when there is none.
  RequestSlot preempt_last_prompt();

  // The head of the queue, or null when it is empty or nobody there is seen yet.
  [[nodiscard]] const Request* head();
  // Whether it could be admitted now. Precondition: there is a head.
  [[nodiscard]] bool could_admit() const { return admission().tokens > 0; }
  // Admits the head with its first chunk (all that the budget holds, or nothing without chunked prefill); false when
  // seats, budget or blocks lack.
  bool admit();
  // Admits from the queue while it can.
  void admit_all();
  // Prompt tokens queued and seen, up to `enough`.
  [[nodiscard]] std::int64_t queued_tokens(std::int64_t enough) const;

  void unsteady() { steady_ = false; }
  [[nodiscard]] bool steady() const { return steady_; }

 private:
  struct Admission {
    std::int64_t tokens = 0;    // of the first chunk
    std::int64_t hits = 0;      // cached hashes
    std::int64_t cached = 0;    // tokens of them
    std::int64_t blocks = 0;    // blank ones to take
  };
  [[nodiscard]] Admission admission() const;
  void preempt(RequestSlot slot);
  [[nodiscard]] std::int64_t cached_hashes(const Request& request) const;
  void schedule(RequestSlot slot, std::int64_t tokens);

  Context c_;
  std::int64_t tokens_left_;
  bool steady_ = true;
  bool preempted_ = false;
};

}  // namespace shardplan
