// A step law of five numbers: fixed + per decode + per cached position + per prompt token + per pair.
//
// For tests with hand-computed times, and to replay a machine whose law was fitted rather than modelled.
#pragma once

#include <array>

#include "sim/step_timer.h"

namespace shardplan {

struct LinearLaw {
  SimTime fixed;               // of every step
  SimTime per_decode;
  SimTime per_position;        // cached, read by a decode
  SimTime per_prompt_token;
  SimTime per_pair;            // of a prompt's query and key
  SimTime routed;              // of every step, for the busiest EP rank
};

class LinearTimer : public StepTimer {
 public:
  explicit LinearTimer(const LinearLaw& law) : law_(law) {}
  DecodeTime decode(std::int64_t sequences, std::int64_t context) override;
  void mixed(const StepLoad& load, MixedTime& out) override;

 private:
  LinearLaw law_;
  std::array<TimeLine, 1> line_{};
};

}  // namespace shardplan
