// Flags of single requests: where they come from, who shares a step, what fails, which pools serve them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/cli/flag.h"
#include "tools/request/parallel_flags.h"

namespace shardplan {

struct TrafficFlags {
  std::string trace, trace_format, arrival, lengths;
  std::optional<std::int64_t> requests, seed, turns;
  std::optional<double> length_ratio, trace_speed, pause_seconds, stop_after_seconds;
};

struct SchedulingFlags {
  std::string scheduler, router, chunked_prefill;
  std::optional<std::int64_t> long_prompt_tokens, batch_wait_iterations, balance_iterations, max_waiting;
  std::optional<double> batch_wait_ratio, tbt_ms;
  bool synchronous = false, no_prefix_caching = false, mixed_chunk = false, draw_routing = false, one_by_one = false, router_sees_instances = false;
};

struct TierFlags {
  std::optional<double> host_gb, remote_gb, remote_gbps;
};

struct FaultFlags {
  std::string faults, policy;
};

struct ScaleFlags {
  std::string scale;
  std::optional<double> drain_seconds, switch_seconds;
};

// Degrees of one pool; what is not given is the common flag's, replicas 1.
struct PoolFlags {
  std::optional<std::int64_t> replicas, tp, pp, dpa, pcp, dcp, ep, moe_tp;
  [[nodiscard]] bool given() const { return replicas || tp || pp || dpa || pcp || dcp || ep || moe_tp; }
};

struct CapacityFlags {
  bool find_rate = false;
  std::optional<double> attainment;
};

struct SimulateFlags {
  TrafficFlags traffic;
  SchedulingFlags scheduling;
  TierFlags tiers;
  FaultFlags faults;
  ScaleFlags scales;
  PoolFlags prefill, decode;
  CapacityFlags capacity;
};

struct RequestFlags;
// Of the command `simulate`; `flags` must outlive them.
[[nodiscard]] std::vector<FlagGroup> simulate_flags(RequestFlags& flags);

}  // namespace shardplan
