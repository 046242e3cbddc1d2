// One request as a workload states it.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/sim_time.h"

namespace shardplan {

inline constexpr std::int64_t kMaxRequestTokens = 1'000'000'000;   // of a prompt or an output; more is a bad row

struct RequestSpec {
  std::int64_t id = 0;                 // its number in the workload, from 0
  SimTime arrival;
  std::int64_t prompt_tokens = 1;
  std::int64_t output_tokens = 1;      // at least 1; exact: no early stop
  std::int64_t session = -1;           // whose turn it is; -1: nobody waits for it
  // Identities of the prefix, `hash_tokens` tokens each: equal numbers at equal places are reusable cache. They may go
  // on into the output, whose blocks can serve a later turn.
  std::vector<std::uint64_t> hashes;
  std::int64_t hash_tokens = 0;
};

}  // namespace shardplan
