#include "sim/schedulers/step_builder.h"

#include <algorithm>

#include "base/errors.h"

namespace shardplan {

StepBuilder::StepBuilder(const Context& context) : c_(context), tokens_left_(context.limits.max_batched_tokens) {
  c_.batch.chunks.clear();
  c_.batch.decoding = false;
}

void StepBuilder::make_room_for_decodes() {
  while (decodes() > 0 && c_.batch.decodes.blocks_for(1) > c_.group.pool.available()) {
    const RequestSlot last = c_.batch.decodes.members().tail;
    const RequestSlot prompt = c_.group.prefilling.tail;
    const bool prompt_is_later = prompt != kNoRequest && c_.table[prompt].admission > c_.table[last].admission;
    if (prompt_is_later && preempt_last_prompt() != kNoRequest) continue;
    preempt(last);
  }
}

void StepBuilder::take_decodes() {
  if (decodes() == 0) return;
  ensure(c_.group.pool.take(c_.batch.decodes.blocks_for(1)), "decodes were scheduled without room");
  c_.batch.decoding = true;
  tokens_left_ -= decodes();
}

RequestSlot StepBuilder::preempt_last_prompt() {
  const RequestSlot last = c_.group.prefilling.tail;
  if (last == kNoRequest || c_.table[last].scheduled != c_.table[last].computed) return kNoRequest;
  preempt(last);
  return last;
}

// Its blocks come free at once, its tokens are computed anew; what was answered stays answered.
void StepBuilder::preempt(RequestSlot slot) {
  Request& request = c_.table[slot];
  if (request.phase == RequestPhase::kDecoding) {
    c_.counters.recomputed_tokens += c_.batch.decodes.context(request);
    if (std::erase(c_.batch.newcomers, slot) == 0) request.last_token = c_.batch.last_decode;
    c_.batch.decodes.leave(c_.table, slot);
  } else {
    c_.counters.recomputed_tokens += request.computed;
    c_.table.erase(c_.group.prefilling, slot);
  }
  c_.group.pool.give(request.holding.blocks);
  c_.group.pool.unpin(request.hashes_within(request.holding.pinned * request.spec.hash_tokens));
  request.holding = {};
  request.target = request.spec.prompt_tokens + request.outputs;
  request.scheduled = request.computed = 0;
  request.phase = RequestPhase::kWaiting;
  ++request.preemptions;
  ++c_.counters.preemptions;
  --c_.group.seated;
  c_.table.push_front(c_.group.waiting, slot);
  preempted_ = true;
  steady_ = false;
}

void StepBuilder::schedule(RequestSlot slot, std::int64_t tokens) {
  Request& request = c_.table[slot];
  c_.batch.chunks.push_back({.request = slot, .tokens = tokens, .prefix = request.scheduled});
  request.scheduled += tokens;
  tokens_left_ -= tokens;
  steady_ = false;
}

bool StepBuilder::extend(RequestSlot prompt, std::int64_t tokens) {
  Request& request = c_.table[prompt];
  const std::int64_t held = request.holding.blocks + request.holding.pinned_blocks;
  const std::int64_t more = std::max<std::int64_t>(0, c_.group.pool.blocks_of(request.scheduled + tokens) - held);
  if (!c_.group.pool.take(more)) return false;
  request.holding.blocks += more;
  schedule(prompt, tokens);
  return true;
}

void StepBuilder::extend_prompts() {
  const std::int64_t most = c_.limits.long_prompt_tokens > 0 ? c_.limits.long_prompt_tokens : c_.limits.max_batched_tokens;
  for (RequestSlot prompt = first_prompt(); prompt != kNoRequest && tokens_left_ > 0; prompt = next_prompt(prompt)) {
    const std::int64_t tokens = std::min({left_of(prompt), tokens_left_, most});
    if (tokens == 0) continue;   // its last chunk is under way
    bool extended = extend(prompt, tokens);
    while (!extended && c_.group.prefilling.tail != prompt && preempt_last_prompt() != kNoRequest) extended = extend(prompt, tokens);
    if (extended) continue;
    if (c_.group.prefilling.tail == prompt && c_.group.seated > 1) preempt_last_prompt();
    break;
  }
  if (!c_.group.prefilling.empty()) steady_ = false;
}

const Request* StepBuilder::head() {
  if (c_.group.waiting.empty()) return nullptr;
  if (c_.holds_prompts) {
    steady_ = false;
    return nullptr;
  }
  const Request& request = c_.table[c_.group.waiting.head];
  if (request.ready <= c_.visible_until) return &request;
  steady_ = false;
  return nullptr;
}

// Leading hashes that the cache has, short of the last token, which is always computed.
std::int64_t StepBuilder::cached_hashes(const Request& request) const { return c_.group.pool.match(request.hashes_within(request.target - 1)); }

// What admitting the head would take; no tokens when seats, budget or blocks lack.
StepBuilder::Admission StepBuilder::admission() const {
  const Request& request = c_.table[c_.group.waiting.head];
  const BlockPool& pool = c_.group.pool;
  if (seats_left() < 1 || tokens_left_ < 1) return {};
  Admission out{.hits = cached_hashes(request)};
  out.cached = out.hits * request.spec.hash_tokens;
  const std::int64_t fresh = request.target - out.cached;
  if (fresh > tokens_left_ && !c_.limits.chunked_prefill) return {};
  const std::int64_t most = c_.limits.long_prompt_tokens > 0 ? c_.limits.long_prompt_tokens : fresh;
  const std::int64_t tokens = std::min({fresh, tokens_left_, most});
  const std::int64_t pinned = out.cached / pool.block_tokens();
  out.blocks = pool.blocks_of(c_.reserves_output ? request.largest_context() : out.cached + tokens) - pinned;
  const std::int64_t whole = c_.limits.admit_full_prompt ? std::max(out.blocks, pool.blocks_of(request.target) - pinned) : out.blocks;
  if (whole + pool.cost_of_pinning(request.hashes_within(out.cached)) > pool.available()) return {};
  out.tokens = tokens;
  return out;
}

bool StepBuilder::admit() {
  const Admission admission = this->admission();
  if (admission.tokens == 0) return false;
  const RequestSlot slot = c_.group.waiting.head;
  Request& request = c_.table[slot];
  c_.group.pool.pin(request.hashes_within(admission.cached));
  ensure(c_.group.pool.take(admission.blocks), "an admitted request found no blocks");
  c_.table.erase(c_.group.waiting, slot);
  c_.group.reserved -= request.reserved;
  request.reserved = 0;
  request.holding = {.pinned = admission.hits, .pinned_blocks = admission.cached / c_.group.pool.block_tokens(), .blocks = admission.blocks};
  request.phase = RequestPhase::kPrefilling;
  request.admission = c_.table.next_admission();
  request.scheduled = request.computed = admission.cached;
  if (!request.was_scheduled) {
    request.was_scheduled = true;
    request.first_scheduled = c_.now;
    request.cached_tokens = admission.cached;
  }
  ++c_.group.seated;
  c_.table.push_back(c_.group.prefilling, slot);
  schedule(slot, admission.tokens);
  return true;
}

void StepBuilder::admit_all() {
  if (preempted_) return;   // what was just thrown out must not come back in the same step
  while (head() != nullptr && admit()) {
  }
}

std::int64_t StepBuilder::queued_tokens(std::int64_t enough) const {
  std::int64_t tokens = 0;
  for (RequestSlot slot = c_.group.waiting.head; slot != kNoRequest && tokens < enough; slot = c_.table[slot].next) {
    if (c_.table[slot].ready > c_.visible_until) break;
    tokens += c_.table[slot].target;
  }
  return tokens;
}

}  // namespace shardplan
