#include "sim/linear_timer.h"

#include <limits>

namespace shardplan {

DecodeTime LinearTimer::decode(std::int64_t sequences, std::int64_t) {
  line_[0] = {.base = law_.fixed + law_.per_decode * sequences, .slope = law_.per_position.value()};
  return {.low = 0, .high = std::numeric_limits<std::int64_t>::max(), .latency = line_[0], .routed = {.time = law_.routed, .tokens = sequences}, .stages = line_};
}

void LinearTimer::mixed(const StepLoad& load, MixedTime& out) {
  out.latency = law_.fixed + law_.per_decode * load.decode_sequences + law_.per_position * load.decode_context +
                law_.per_prompt_token * load.prompt_tokens + law_.per_pair * load.prompt_pairs;
  out.stages.assign(1, out.latency);
  out.routed = {.time = law_.routed, .tokens = load.decode_sequences + load.prompt_tokens};
}

}  // namespace shardplan
