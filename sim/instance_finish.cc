// Ending a step, or a run of them: tokens handed out, prompts grown, requests ended.
#include "sim/instance.h"

namespace shardplan {

void Instance::finish(std::size_t index) {
  Lane& lane = lanes_[index];
  lane.busy = false;
  settle(lane, lane.steps);
  steps_ += lane.steps;
  record(index, lane);
  // The start of the last step: what came later was not seen when the next one was planned.
  lane.last_start = lane.start + time_of_steps(lane, lane.steps - 1);
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    Batch& batch = lane.batches[g];
    if (batch.decoding) finish_decodes(lane, groups_[g], batch);
    for (const Chunk& chunk : batch.chunks) finish_chunk(groups_[g], batch, chunk);
    batch.chunks.clear();
  }
  lane.next_draw += lane.steps;
}

void Instance::record(std::size_t index, const Lane& lane) {
  StepRecord step{.instance = id_, .lane = static_cast<std::int32_t>(index), .start = lane.start, .end = events_.now(), .steps = lane.steps};
  for (const Batch& batch : lane.batches) {
    if (batch.decoding) step.decodes += batch.decodes.size();
    for (const Chunk& chunk : batch.chunks) step.prompt_tokens += chunk.tokens;
  }
  SimTime& busy = step.prompt_tokens == 0 ? busy_.decode : step.decodes > 0 ? busy_.mixed : busy_.prefill;
  busy += step.end - step.start;
  observer_.on_step(step);
}

void Instance::finish_decodes(Lane& lane, Group& group, Batch& batch) {
  DecodeSet& decodes = batch.decodes;
  const SimTime first = lane.start + time_of_steps(lane, 1);
  const auto newcomers = static_cast<std::int64_t>(batch.newcomers.size());
  for (const RequestSlot slot : batch.newcomers) observer_.on_gaps(first - table_[slot].last_token, SimTime(0), 1, 1);
  observer_.on_gaps(first - batch.last_decode, SimTime(0), 1, decodes.size() - newcomers);
  if (lane.steps > 1 && lane.routed.time.value() != 0) {   // no two steps alike
    SimTime before = time_of_steps(lane, 1);
    for (std::int64_t step = 2; step <= lane.steps; ++step) {
      const SimTime then = time_of_steps(lane, step);
      observer_.on_gaps(then - before, SimTime(0), 1, decodes.size());
      before = then;
    }
  } else if (lane.steps > 1) {
    const SimTime second = lane.line.at(lane.beyond_low + lane.growth);
    observer_.on_gaps(second, SimTime(lane.line.slope * lane.growth), lane.steps - 1, decodes.size());
  }
  batch.newcomers.clear();
  batch.last_decode = lane.start + time_of_steps(lane, lane.steps);
  decodes.advance(lane.steps);
  for (RequestSlot slot = decodes.ended(table_); slot != kNoRequest; slot = decodes.ended(table_)) {
    decodes.leave(table_, slot);
    table_[slot].last_token = batch.last_decode;
    publish(group, table_[slot], table_[slot].largest_context());
    end(group, slot);
  }
}

// Whole blocks of computed tokens get their names.
void Instance::publish(Group& group, Request& request, std::int64_t tokens) {
  const auto hashes = request.hashes_within(tokens);
  const std::int64_t blocks = request.spec.hash_tokens / settings_.block_tokens;
  for (auto i = static_cast<std::size_t>(request.holding.pinned); i < hashes.size(); ++i) {
    group.pool.publish(hashes[i], blocks);
    request.holding.blocks -= blocks;
    request.holding.pinned_blocks += blocks;
    ++request.holding.pinned;
  }
}

// The last chunk of a prompt yields a token: the first one, or the next after a preemption.
void Instance::finish_chunk(Group& group, Batch& batch, const Chunk& chunk) {
  const RequestSlot slot = chunk.request;
  Request& request = table_[slot];
  request.computed += chunk.tokens;
  publish(group, request, request.computed);
  if (request.computed < request.target) return;
  table_.erase(group.prefilling, slot);
  request.phase = RequestPhase::kOutside;
  ++request.outputs;
  const bool last = request.outputs == request.spec.output_tokens;
  if (settings_.role == PoolRole::kPrefill && !last) {
    request.prefilled = events_.now();
    request.phase = RequestPhase::kHandedOver;
    request.source_group = request.group;
    request.source_holding = request.holding;
    request.holding = {};
    observer_.on_prefilled(slot);
    return;
  }
  if (request.outputs > 1) observer_.on_gaps(events_.now() - request.last_token, SimTime(0), 1, 1);
  request.last_token = events_.now();
  if (request.outputs == 1) observer_.on_first_token(slot);
  if (last) return end(group, slot);
  batch.decodes.join(table_, slot);
  batch.newcomers.push_back(slot);
}

void Instance::end(Group& group, RequestSlot slot) {
  group.releasing.push_back(slot);
  observer_.on_ended(slot);
}

}  // namespace shardplan
