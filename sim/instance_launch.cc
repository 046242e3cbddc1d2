// Starting a step, or a run of decode steps: what it processes, how long it lasts, how far ahead it can go.
#include <algorithm>
#include <cmath>
#include <utility>

#include "base/errors.h"
#include "sim/instance.h"

namespace shardplan {
namespace {

constexpr std::int64_t kLongestRun = 1 << 16;   // steps; keeps products of times in 64 bits

}  // namespace

void Instance::launch(std::size_t index, bool steady) {
  Lane& lane = lanes_[index];
  for (Lane& other : lanes_) interrupt(other);   // no longer alone
  const bool prompts = std::any_of(lane.batches.begin(), lane.batches.end(), [](const Batch& batch) { return !batch.chunks.empty(); });
  lane.busy = true;
  lane.start = events_.now();
  lane.steps = lane.settled = 1;
  lane.cut = false;
  lane.growth = 0;
  lane.beyond_low = 0;
  lane.captured = !prompts;
  if (prompts) balance_waited_ = 0;
  if (prompts) launch_mixed(lane);
  else launch_decodes(lane, steady && settings_.skip_ahead && alone(lane));
  lane.event = events_.schedule({.time = lane.start + time_of_steps(lane, lane.steps), .priority = EventPriority::kStep, .target = this,
                                 .argument = static_cast<std::int64_t>(index)});
}

// Groups in lock-step: as if all were as busy as the busiest, in sequences and in positions.
void Instance::launch_decodes(Lane& lane, bool ahead) {
  const StepLoad load = busiest_load(lane);
  const DecodeTime time = timer_->decode(load.decode_sequences, load.decode_context);
  lane.line = time.latency;
  set_routed(lane, time.routed);
  lane.beyond_low = load.decode_context - time.low;
  std::copy(time.stages.begin(), time.stages.end(), lane.stage_lines.begin());
  if (ahead) lane.steps = run_length(lane, load.decode_context, time.high);
  if (lanes_.size() == 1) return;
  if (lane.steps > 1) return;   // alone: the stages are free; their occupation is settled when the run is cut
  mixed_.stages.clear();
  for (const TimeLine& stage : lane.stage_lines) mixed_.stages.push_back(stage.at(lane.beyond_low));
  const SimTime end = pass_stages(lane.start, mixed_.stages, lane.line.at(lane.beyond_low));
  lane.line = {.base = end - lane.start, .slope = 0};
}

void Instance::launch_mixed(Lane& lane) {
  timer_->mixed(busiest_load(lane), mixed_);
  if (groups_.size() > 1 && settings_.busiest_ratio < 1) {
    timer_->mixed(spread_load(lane), spread_);
    const auto blend = [this](SimTime busiest, SimTime spread) {
      const double ratio = settings_.busiest_ratio;
      return SimTime(std::llround(ratio * static_cast<double>(busiest.value()) + (1 - ratio) * static_cast<double>(spread.value())));
    };
    mixed_.latency = blend(mixed_.latency, spread_.latency);
    for (std::size_t s = 0; s < mixed_.stages.size(); ++s) mixed_.stages[s] = blend(mixed_.stages[s], spread_.stages[s]);
  }
  const SimTime end = pass_stages(lane.start, mixed_.stages, mixed_.latency);
  lane.line = {.base = end - lane.start, .slope = 0};
  set_routed(lane, mixed_.routed);
}

void Instance::set_routed(Lane& lane, const RoutedPart& routed) const {
  lane.routed = settings_.routing != nullptr && lanes_.size() == 1 ? routed : RoutedPart();
}

namespace {

void add_chunks(const Batch& batch, StepLoad& load) {
  for (const Chunk& chunk : batch.chunks) {
    ++load.prompts;
    load.prompt_tokens += chunk.tokens;
    load.prompt_pairs += chunk.tokens * chunk.prefix + chunk.tokens * (chunk.tokens + 1) / 2;
  }
}

}  // namespace

StepLoad Instance::busiest_load(const Lane& lane) const {
  StepLoad most;
  for (const Batch& batch : lane.batches) {
    StepLoad load;
    add_chunks(batch, load);
    if (load.prompt_tokens > most.prompt_tokens) {
      most.prompts = load.prompts;
      most.prompt_tokens = load.prompt_tokens;
      most.prompt_pairs = load.prompt_pairs;
    }
    if (!batch.decoding) continue;
    most.decode_sequences = std::max(most.decode_sequences, batch.decodes.size());
    most.decode_context = std::max(most.decode_context, batch.decodes.context_sum() + batch.decodes.size());
  }
  const auto groups = static_cast<std::int64_t>(groups_.size());
  return {.decode_sequences = groups * most.decode_sequences, .decode_context = groups * most.decode_context, .prompts = groups * most.prompts,
          .prompt_tokens = groups * most.prompt_tokens, .prompt_pairs = groups * most.prompt_pairs, .behind = lane.behind};
}

StepLoad Instance::spread_load(const Lane& lane) const {
  StepLoad load{.behind = lane.behind};
  for (const Batch& batch : lane.batches) {
    add_chunks(batch, load);
    if (!batch.decoding) continue;
    load.decode_sequences += batch.decodes.size();
    load.decode_context += batch.decodes.context_sum() + batch.decodes.size();
  }
  return load;
}

// Steps until a member ends, a group runs out of blocks, another group becomes the one with most positions, or the
// time's line ends. Sets the growth of the sum of contexts per step.
std::int64_t Instance::run_length(Lane& lane, std::int64_t context, std::int64_t high) {
  const auto groups = static_cast<std::int64_t>(groups_.size());
  std::int64_t steps = kLongestRun;
  const Batch* busiest = nullptr;
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    Batch& batch = lane.batches[g];
    if (!batch.decoding) continue;
    steps = std::min(steps, batch.decodes.steps_to_end(table_));
    steps = batch.decodes.steps_within(groups_[g].pool.available() + batch.decodes.blocks_for(1), steps);
    const auto reach = [](const Batch& b) { return std::pair(b.decodes.context_sum() + b.decodes.size(), b.decodes.size()); };
    if (busiest == nullptr || reach(batch) > reach(*busiest)) busiest = &batch;
  }
  for (const Batch& batch : lane.batches) {
    const std::int64_t gains = batch.decodes.size() - busiest->decodes.size();
    if (!batch.decoding || gains <= 0) continue;
    const std::int64_t behind = busiest->decodes.context_sum() + busiest->decodes.size() - batch.decodes.context_sum() - batch.decodes.size();
    steps = std::min(steps, behind / gains + 1);
  }
  lane.growth = groups * busiest->decodes.size();
  return std::max<std::int64_t>(1, std::min(steps, (high - context - 1) / lane.growth + 1));
}

SimTime Instance::time_of_steps(const Lane& lane, std::int64_t steps) const {
  const std::int64_t positions = steps * lane.beyond_low + lane.growth * (steps * (steps - 1) / 2);
  const SimTime expected = lane.line.base * steps + SimTime(lane.line.slope * positions);
  if (lane.routed.time.value() == 0) return expected;
  const std::int64_t excess = settings_.routing->excess(lane.routed.tokens, lane.next_draw, steps);
  return expected + SimTime(lane.routed.time.value() / RoutingDraws::kUnit * excess);
}

// The step of a run that is under way now, from 1: the first that has not ended. One that ends at this very time has,
// once steps that do have been dealt with.
std::int64_t Instance::step_now(const Lane& lane) const {
  const SimTime time = events_.past(EventPriority::kStep) ? events_.now() + SimTime(1) : events_.now();
  std::int64_t low = 1;
  std::int64_t high = lane.steps;
  while (low < high) {
    const std::int64_t middle = (low + high) / 2;
    if (lane.start + time_of_steps(lane, middle) < time) low = middle + 1;
    else high = middle;
  }
  return low;
}

void Instance::settle(Lane& lane, std::int64_t steps) {
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    const Batch& batch = lane.batches[g];
    if (!batch.decoding) continue;
    ensure(groups_[g].pool.take(batch.decodes.blocks_for(steps) - batch.decodes.blocks_for(lane.settled)), "a run of steps went beyond the cache");
  }
  lane.settled = steps;
}

void Instance::interrupt(Lane& lane) {
  if (!lane.busy || lane.steps == 1 || lane.cut) return;
  lane.cut = true;
  const std::int64_t steps = step_now(lane);
  settle(lane, steps);
  if (lanes_.size() > 1) {   // other lanes may follow this step through the stages
    mixed_.stages.clear();
    const std::int64_t beyond = lane.beyond_low + (steps - 1) * lane.growth;
    for (const TimeLine& stage : lane.stage_lines) mixed_.stages.push_back(stage.at(beyond));
    (void)pass_stages(lane.start + time_of_steps(lane, steps - 1), mixed_.stages, lane.line.at(beyond));
  }
  if (steps == lane.steps) return;
  lane.steps = steps;
  events_.cancel(lane.event);
  lane.event = events_.schedule({.time = lane.start + time_of_steps(lane, steps), .priority = EventPriority::kStep, .target = this,
                                 .argument = &lane - lanes_.data()});
}

// A batch through the stages, each once the batch before has left it; what is no stage's time lies evenly between.
// Returns when it leaves the last.
SimTime Instance::pass_stages(SimTime start, const std::vector<SimTime>& stages, SimTime latency) {
  SimTime between = latency;
  for (const SimTime stage : stages) between -= stage;
  SimTime at = start;
  for (std::size_t s = 0; s < stages.size(); ++s) {
    at = std::max(at, stage_free_[s]) + stages[s];
    stage_free_[s] = at;
    at += between / static_cast<std::int64_t>(stages.size());
  }
  return at + between - between / static_cast<std::int64_t>(stages.size()) * static_cast<std::int64_t>(stages.size());
}

}  // namespace shardplan
