// The two steps of the closed loop, priced: see planner/serving.h.
#include <algorithm>
#include <cmath>

#include "planner/serving.h"

namespace shardplan {
namespace {

bool alike(const StageLayers& a, const StageLayers& b) {
  return a.is_first == b.is_first && a.is_last == b.is_last && a.of_kind == b.of_kind;
}

double total(const StepParts& parts) {
  double sum = 0;
  for (const double part : parts) sum += part;
  return sum;
}

void add(StepParts& to, const StepParts& parts) {
  for (std::size_t i = 0; i < kStepParts; ++i) to[i] += parts[i];
}

StepCost step_cost(const ServingInput& in, const BatchShape& shape) {
  StepCost out;
  const StageLayers* before = nullptr;
  StepParts parts{};
  double longest = -1;
  for (const StageLayers& stage : in.stages) {  // stages that hold the same layers take the same time
    if (before == nullptr || !alike(*before, stage)) {
      parts = in.pricer.stage(stage, shape).parts;
      before = &stage;
    }
    const auto layers = static_cast<double>(stage.count + (stage.is_last ? in.pricer.draft_layers(shape) : 0));
    const double seconds = total(parts) + in.times.host.per_layer.value() * layers;
    if (seconds > longest) {
      longest = seconds;
      out.slowest = parts;
      out.slowest_layers = layers;
    }
    add(out.sum, parts);
    out.layers += layers;
  }
  if (in.stages.size() > 1) {
    out.sum[index_of(StepPart::kCollective)] +=
        in.pricer.hop(shape).value() * static_cast<double>(in.stages.size() - 1);
  }
  const auto prompt = static_cast<double>(shape.prefill_sequences * shape.prefill_tokens);
  const auto tokens = static_cast<double>(shape.tokens());
  out.prefill_ratio = tokens > 0 ? prompt / tokens : 0;
  return out;
}

// Fills the prompts' part of `s` and returns its shape: k prompts at once in `chunks` steps, k = 1 + N/osl as they come
// free (all that fit where they move in waves), within the token budget beside the decode tokens. Attention groups take
// prompts in step with one another.
BatchShape prompt_shape(const ServingInput& in, const Workload& w, double batch, LoopSteps& s) {
  const auto fresh = static_cast<double>(std::max<std::int64_t>(1, w.isl - w.prefix));
  const bool alone = !s.mixes || !s.answers() || in.times.prefill_first;
  const auto budget = static_cast<double>(in.scheduler.max_batched_tokens);
  const auto verified = static_cast<double>(verified_tokens(in.config.variant.speculative_tokens));
  const double room = std::max(1.0, budget - (alone ? 0 : verified * batch / s.groups));
  s.fit = room / fresh * s.groups;
  const double fit = std::max(1.0, std::floor(room / fresh)) * s.groups;
  const bool waves = w.equal_lengths && in.times.prefill_first && in.times.waves;
  s.prompts = std::max(1.0, std::min({waves ? batch : s.groups + batch * s.tokens_per_step / s.osl, fit, batch}));
  const double in_group = std::max(1.0, s.prompts / s.groups);
  s.chunks = std::max(1.0, std::ceil(in_group * fresh / room));
  BatchShape shape;
  shape.prefill_sequences = static_cast<std::int64_t>(std::ceil(s.prompts - 1e-9));
  const double share = s.prompts / static_cast<double>(shape.prefill_sequences);
  shape.prefill_tokens = static_cast<std::int64_t>(std::ceil(share * fresh / s.chunks));
  shape.prefill_prefix = static_cast<double>(w.prefix) + (fresh - fresh / s.chunks) / 2;
  return shape;
}

struct Shapes {
  BatchShape decode, mixed;
};

// The two steps with `running` requests; fills what the loop asks of them.
Shapes shapes_of(const ServingInput& input, const Workload& w, double running, LoopSteps& s) {
  s.running = running;
  s.in_flight = static_cast<double>(std::clamp<std::int64_t>(static_cast<std::int64_t>(running), 1, input.config.pp));
  s.groups = static_cast<double>(input.config.dpa);
  s.stages = static_cast<double>(input.stages.size());
  s.isl = static_cast<double>(w.isl);
  s.osl = static_cast<double>(w.osl);
  const std::int64_t drafts = input.config.variant.speculative_tokens;
  s.tokens_per_step = tokens_per_step(drafts, w.acceptance_ratio);
  s.mixes = input.mixes;
  const double batch = running / s.in_flight;
  BatchShape decode;
  decode.decode_sequences = static_cast<std::int64_t>(std::ceil(batch - 1e-9));
  decode.decode_context = s.isl + s.osl / 2;
  decode = verifying(decode, drafts);
  BatchShape mixed = prompt_shape(input, w, batch, s);
  s.resumed = w.isl - w.prefix <= 1;
  if (s.resumed) {
    mixed = decode;
    mixed.decode_sequences += static_cast<std::int64_t>(std::ceil(s.prompts - 1e-9));
  } else if (s.mixes && s.answers() && !input.times.prefill_first) {
    mixed.decode_sequences = decode.decode_sequences;
    mixed.decode_context = decode.decode_context;
    mixed.decode_tokens = decode.decode_tokens;
  }
  return {decode, mixed};
}

double deviation_of(const Spread& spread) { return std::log(spread.p90 / spread.p10) / (2 * kP90); }

}  // namespace

StepParts part_deviation(const ServingInput& input, const Workload& workload, double running) {
  LoopSteps unused;
  const Shapes shapes = shapes_of(input, workload, running, unused);
  StepParts seconds{}, off{};
  const auto add = [&](StepPart part, double time, const Spread& spread) {
    seconds[index_of(part)] += time;
    off[index_of(part)] += time * deviation_of(spread);
  };
  for (const BatchShape& shape : {shapes.decode, shapes.mixed}) {
    const StepBreakdown step = input.pricer.breakdown(input.stages, shape);
    for (const OpRow& op : step.ops) add(op.part, op.time.value() * static_cast<double>(op.count), op.spread);
    for (const CollectiveRow& row : step.collectives)
      add(StepPart::kCollective, row.time.value() * static_cast<double>(row.count), row.spread);
  }
  StepParts out = kKernelDeviation;
  for (std::size_t i = 0; i < kStepParts; ++i) {
    if (seconds[i] > 0) out[i] = off[i] / seconds[i];
  }
  return out;
}

LogSpread serving_spread(const ServingInput& input, const Workload& workload, const ServingEstimate& serving) {
  if (!serving.feasible) return {};
  EngineTimes plain = input.times;
  plain.factors = {};  // the pricer has them
  LoopSteps steps = loop_steps(input, workload, serving.running);
  steps.deviation = part_deviation(input, workload, serving.running);
  return spread_of(steps, plain, loop_traffic(workload));
}

LoopTraffic loop_traffic(const Workload& workload) {
  return {.burst_ratio = workload.burst_ratio, .waves = workload.equal_lengths};
}

// A request holds its prompt and, on average, half its output while it runs; all of it where the engine reserves it.
// Drafted tokens have slots of their own.
RunningLimit running_limit(const ServingInput& input, const Workload& w) {
  const std::int64_t held =
      (input.scheduler.reserves_output ? w.tokens() : w.isl + w.osl / 2) + input.config.variant.speculative_tokens;
  const auto capacity = static_cast<double>(input.ledger.request_capacity(held));
  const auto seats = static_cast<double>(input.scheduler.max_sequences * input.config.dpa);
  return capacity <= seats ? RunningLimit{capacity, "kv cache"} : RunningLimit{seats, "seats"};
}

LoopSteps loop_steps(const ServingInput& input, const Workload& w, double running) {
  LoopSteps s;
  const Shapes shapes = shapes_of(input, w, running, s);
  s.decode = step_cost(input, shapes.decode);
  s.mixed = step_cost(input, shapes.mixed);
  return s;
}

}  // namespace shardplan
