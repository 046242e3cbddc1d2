// How long a step takes, as the simulator asks it: whole picoseconds, one implementation that prices and simple ones.
//
// A step of decodes only is given as a line in the sum of contexts, valid over a range of it (attention reads the cache
// of every position once: its time is linear in the sum). The line *is* the time: a run of steps then adds up exactly,
// however it is cut. Steps with prompts are priced one by one.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/sim_time.h"

namespace shardplan {

// What one step of an instance processes. With attention groups: as if all were as busy as the busiest.
struct StepLoad {
  std::int64_t decode_sequences = 0;
  std::int64_t decode_context = 0;   // sum of the positions each attends to, its own included
  std::int64_t prompts = 0;          // chunks of prompts
  std::int64_t prompt_tokens = 0;    // of all of them
  std::int64_t prompt_pairs = 0;     // sum over chunks of n*prefix + n(n+1)/2: (query, key) pairs
  SimTime behind;                    // the captured step before this one, which it is launched behind; 0: none
};

// Time of decode steps for contexts in [low, high): base + slope*(context - low), whole picoseconds.
struct TimeLine {
  SimTime base;
  std::int64_t slope = 0;            // picoseconds per position
  [[nodiscard]] SimTime at(std::int64_t beyond_low) const { return base + SimTime(slope * beyond_low); }
};

// Of a step, what waits for the busiest EP rank.
struct RoutedPart {
  SimTime time;                           // of the latency, what grows with that rank's rows; 0: not told
  std::int64_t tokens = 0;                // that an EP group routes in the step, drafted ones included
};

struct DecodeTime {
  std::int64_t low = 0;
  std::int64_t high = 0;
  TimeLine latency;                       // through all stages, hops and host time included
  RoutedPart routed;
  std::span<const TimeLine> stages;       // occupation of each; valid until the next call
};

struct MixedTime {
  SimTime latency;                        // sum of stages, hops and host time, when no stage has to wait
  std::vector<SimTime> stages;
  RoutedPart routed;
};

class StepTimer {
 public:
  virtual ~StepTimer() = default;
  [[nodiscard]] virtual std::size_t stages() const { return 1; }
  // Precondition: sequences >= 1, context >= sequences.
  [[nodiscard]] virtual DecodeTime decode(std::int64_t sequences, std::int64_t context) = 0;
  // Precondition: prompt_tokens >= 1. `out` is reused.
  virtual void mixed(const StepLoad& load, MixedTime& out) = 0;
};

}  // namespace shardplan
