// The closed loop of continuous batching, from the parts of two steps: one of decodes alone, one with prompts.
//
//   Td = sum of parts x factors + L*layer + step + B*sequence             a decode step of B sequences
//   Tm = ((with prompts)^4 + (L*prefill_launch - c*Td)^4)^(1/4)           never under its launches, of which those behind
//                                                          the decode step before it, a share c of the times, cost nothing
//   pp batches in flight: each costs its stages' host time too, max(pp*(slowest + host), sum + host)
//   P  = chunks*(Tm - Td)/k          what one of k prompts taken together adds to the others' time
//   lambda = N/(t0 + n*T),  T = Td + lambda*P*T*(N-k)/N    n = (osl-1)/y steps of a request of y tokens each;
//                                                          t0: its own prefill
//   TPOT = T/y
//   TTFT = own steps + the step under way + prompts ahead + a share of the opening burst + held steps + server path
//
// T is solved for as a quadratic, so that Little's law holds by construction. Where prompts have steps of their own
// (prefill first), Tm is that step and nothing is subtracted. Requests of equal lengths under such a scheduler move in
// waves: all N prompts follow one another, half of that time falls into TTFT and half stretches the decodes of those
// already in. Requests of one output token have no decode steps: lambda = min(N/t0, k/(chunks*Tm)), the rest of N
// waits. Over S pipeline stages the next step takes all that waits, so that stages wait for one another: while N is less
// than two budgets for each stage (and more than a prompt for each), the rate lies halfway between that of one step
// after another, 1/S of the full one, and the full one. Simulations of 2 to 8 stages give 0.6 to 1.4 times that.
// Wrong: prompts ahead are an M/D/1 queue at half weight; arrivals of a closed loop are smoother than that.
// Pure numbers: a fit evaluates it a million times without a price being asked.
#pragma once

#include "planner/engine_times.h"

namespace shardplan {

// Standard deviations of the logarithm of kernels' times against their fits, where the kernels are not looked at.
inline constexpr StepParts kKernelDeviation{0.08, 0.06, 0.15, 0.15, 0.1, 0.07, 0.2, 0.3, 0.1, 0.1};

struct StepCost {
  StepParts slowest{};  // of the longest stage, seconds
  StepParts sum{};      // of all stages and the hops between them
  double slowest_layers = 0;
  double layers = 0;
  double prefill_ratio = 0;  // of the tokens, those of prompts
};

struct LoopSteps {
  double running = 1;    // requests at work in one instance
  double in_flight = 1;  // batches in the pipeline
  double groups = 1;     // attention groups that share the sequences of a batch
  double stages = 1;
  double isl = 1;
  double osl = 1;
  double tokens_per_step = 1;  // of a request, where drafted tokens are verified
  StepCost decode;
  StepCost mixed;  // the same decodes with a chunk of the prompts; the chunk alone where they do not mix
  bool mixes = true;
  bool captures = true;  // steps of decodes alone are captured graphs
  bool resumed = false;  // all of a prompt but one token is cached: it joins the decodes, in captured steps
  double prompts = 1;    // taken together
  double fit = 1;        // prompts that a step's budget holds; below 1: one takes several steps
  double chunks = 1;     // steps they take
  StepParts deviation = kKernelDeviation;  // of the parts' logarithms, by the rows that priced them (part_deviation)
  [[nodiscard]] bool answers() const { return osl > 1; }  // false: a request's one token is that of its prompt's step
};

struct LoopTraffic {
  double burst_ratio = 0;  // requests that arrive at once in the beginning, of all that are averaged over
  bool waves = false;      // equal lengths: requests that started together stay together
  double hold_steps = 0;   // that prompts are held back beside running decodes, to be batched
};

struct LoopTimes {
  double decode_step = 0;
  double prefill_extra = 0;
  double tpot = 0;
  double requests_per_second = 0;
  double ttft_prefill = 0;
  double ttft_queue = 0;
  double ttft_host = 0;
  [[nodiscard]] double ttft() const { return ttft_prefill + ttft_queue + ttft_host; }
};

[[nodiscard]] LoopTimes solve_loop(const LoopSteps& steps, const EngineTimes& times, const LoopTraffic& traffic);

}  // namespace shardplan
