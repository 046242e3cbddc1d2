// What is asked of a deployment: traffic, lengths, latency targets.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>

#include "base/quantity.h"
#include "costmodel/speculation.h"

namespace shardplan {

struct Workload {
  std::int64_t isl = 1024;                       // prompt tokens of a request
  std::int64_t osl = 256;                        // output tokens
  std::int64_t prefix = 0;                       // of isl, tokens found in the prefix cache
  double acceptance_ratio = kDefaultAcceptance;  // of drafted tokens, where a configuration drafts (costmodel/speculation.h)
  std::optional<std::int64_t> concurrency;       // closed loop over the whole deployment
  std::optional<double> requests_per_second;     // open loop over the whole deployment
  // How a benchmark's client offers the load; a steady state of traffic has neither.
  double burst_ratio = 0;                        // requests that arrive at once in the beginning, of all measured
  bool equal_lengths = false;                    // every request has exactly isl and osl: those started together stay so
  [[nodiscard]] std::int64_t tokens() const { return isl + osl; }
};

struct Targets {
  std::optional<Seconds> ttft;
  std::optional<Seconds> tpot;
  std::optional<Seconds> e2e;
  // Kept with so many standard deviations of the prediction to spare (deviations_of a confidence); 0: by the prediction itself.
  double deviations = 0;
  // What a prediction is multiplied by before it meets its target, for its spread.
  [[nodiscard]] double margin_ratio(double spread) const { return std::exp(deviations * spread); }
};

}  // namespace shardplan
