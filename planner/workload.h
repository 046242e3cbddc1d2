// What is asked of a deployment: traffic, lengths, latency targets.
#pragma once

#include <cstdint>
#include <optional>

#include "base/quantity.h"

namespace shardplan {

struct Workload {
  std::int64_t isl = 1024;                       // prompt tokens of a request
  std::int64_t osl = 256;                        // output tokens
  std::int64_t prefix = 0;                       // of isl, tokens found in the prefix cache
  std::optional<std::int64_t> concurrency;       // closed loop over the whole deployment
  std::optional<double> requests_per_second;     // open loop over the whole deployment
  [[nodiscard]] std::int64_t tokens() const { return isl + osl; }
};

struct Targets {
  std::optional<Seconds> ttft;
  std::optional<Seconds> tpot;
  std::optional<Seconds> e2e;
};

}  // namespace shardplan
