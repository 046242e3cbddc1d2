#include "planner/serving_loop.h"

#include <algorithm>
#include <cmath>

namespace shardplan {
namespace {

constexpr double kBudgetsAhead = 2;  // of prompts, for each stage: then every step is full
constexpr double kMostBusy = 0.95;  // of the time, spent on prompts: beyond, a queue has no steady length

double smooth_max(double a, double b) { return std::sqrt(std::sqrt(a * a * a * a + b * b * b * b)); }

struct StageSeconds {
  double slowest = 0;
  double sum = 0;
};

StageSeconds stage_seconds(const StepCost& cost, const EngineTimes& times) {
  const StepParts factors = factors_at(times.factors, cost.prefill_ratio);
  const double layer = times.host.per_layer.value();
  return {.slowest = weighted_sum(cost.slowest, factors) + layer * cost.slowest_layers,
          .sum = weighted_sum(cost.sum, factors) + layer * cost.layers};
}

// Time between two steps of a request, and what prompts add.
struct Pace {
  double host = 0;    // of one step
  double decode = 0;  // one decode step
  double extra = 0;   // that one prompt adds to the others
  double own = 0;     // steps of a request's own prompt
};

// Of the steps before one with prompts, those of decodes alone: behind these the host launches it.
double captured_ratio(const LoopSteps& s, const EngineTimes& times) {
  const bool in_waves = times.waves && times.prefill_first;   // prompts follow prompts
  const double batch = s.running / s.in_flight;
  return s.answers() && s.captures && !in_waves ? std::max(0.0, 1 - batch * s.tokens_per_step / s.osl * s.chunks / s.prompts) : 0;
}

Pace pace_of(const LoopSteps& s, const EngineTimes& times) {
  const StageSeconds decode = stage_seconds(s.decode, times);
  StageSeconds mixed = stage_seconds(s.mixed, times);
  const double launch = s.resumed ? 0 : times.host.prefill_launch_per_layer.value();
  const double behind = captured_ratio(s, times);
  mixed.slowest = smooth_max(mixed.slowest, std::max(0.0, launch * s.mixed.slowest_layers - behind * decode.slowest));
  mixed.sum = smooth_max(mixed.sum, std::max(0.0, launch * s.mixed.layers - behind * decode.sum));
  Pace out;
  out.host = times.host.per_step.value() + times.host.per_sequence.value() * s.running / s.in_flight / s.groups;
  out.decode = times.decode_ratio * std::max(s.in_flight * (decode.slowest + out.host), decode.sum + out.host);
  const bool shares = s.answers() && (s.resumed || (s.mixes && !times.prefill_first));
  const double added =
      shares ? std::max(0.0, mixed.slowest - decode.slowest) : mixed.slowest + times.host.per_step.value();
  out.extra = times.prefill_ratio * s.chunks * added / s.prompts;
  const double beside = shares ? times.decode_ratio * (decode.sum + out.host) : 0;
  const double whole = shares ? std::max(0.0, mixed.sum - decode.sum) : mixed.sum + times.host.per_step.value();
  const double follow = shares ? std::max(mixed.slowest, mixed.sum / s.stages) + out.host
                               : std::max(mixed.slowest, mixed.sum / s.stages) + times.host.per_step.value();
  out.own = beside + times.prefill_ratio * (whole + (s.chunks - 1) * follow);
  return out;
}

// steps*x^2 + (t0 - P*(N-k) - Td*steps)*x - Td*t0 = 0, the positive root.
double time_per_step(const LoopSteps& s, const Pace& pace, double steps) {
  const double others = std::max(0.0, s.running - s.prompts);
  const double b = pace.own - pace.extra * others - pace.decode * steps;
  return (-b + std::sqrt(b * b + 4 * steps * pace.decode * pace.own)) / (2 * steps);
}

// Part of a pipeline's rate that is left where steps of prompts are packed greedily.
double packed_ratio(const LoopSteps& s) {
  const bool alone = s.running <= s.stages;  // a step for each
  if (s.stages <= 1 || s.fit <= 1 || alone) return 1;
  const double halfway = (1 + 1 / s.stages) / 2;
  return std::clamp(s.running / (kBudgetsAhead * s.stages * s.fit), halfway, 1.0);
}

// Requests that end with their prompt: sets of them follow one another, and a set's steps overlap over pipeline stages.
LoopTimes solve_prompts(const LoopSteps& s, const Pace& pace) {
  LoopTimes out;
  out.requests_per_second = std::min(s.running / pace.own, packed_ratio(s) / pace.extra);
  out.ttft_queue = s.running / out.requests_per_second - pace.own;
  return out;
}

}  // namespace

LoopTimes solve_loop(const LoopSteps& s, const EngineTimes& times, const LoopTraffic& traffic) {
  const Pace pace = pace_of(s, times);
  const double steps = std::max(1.0, (s.osl - 1) / s.tokens_per_step);
  const double together = s.prompts * pace.extra;  // of a set of prompts
  const double sets = std::max(0.0, s.running / s.prompts - 1);
  LoopTimes out;
  if (!s.answers()) out = solve_prompts(s, pace);
  out.decode_step = pace.decode;
  out.prefill_extra = pace.extra;
  out.ttft_prefill = pace.own;
  out.ttft_host = times.host.first_token.value() + s.isl * times.host.per_prompt_token.value();
  if (!s.answers()) {
    out.tpot = pace.decode;
    return out;
  }
  if (traffic.waves && times.waves && times.prefill_first) {
    const double step = pace.decode + s.running * pace.extra / (2 * steps);
    out.tpot = step / s.tokens_per_step;
    out.ttft_queue = times.queue_ratio * sets / 2 * together;
    out.requests_per_second = s.running / (pace.own + out.ttft_queue + steps * step);
    return out;
  }
  const double step = time_per_step(s, pace, steps);
  out.tpot = step / s.tokens_per_step;
  out.requests_per_second = s.running / (pace.own + steps * step);
  if (s.running <= 1) return out;
  const double busy = std::min(kMostBusy, out.requests_per_second * pace.extra);
  const double ahead = 0.5 * busy * together + 0.25 * busy / (1 - busy) * together;
  const double burst = traffic.burst_ratio * sets / 2 * (together + pace.decode);
  out.ttft_queue = 0.5 * pace.decode + times.queue_ratio * (ahead + burst) + traffic.hold_steps * pace.decode;
  return out;
}

}  // namespace shardplan
