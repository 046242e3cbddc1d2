// A deployment under a workload: what comes in, what it runs on, what came out.
//
// Replicas of one pool behind a router, or a prefill pool whose caches move to a decode pool over shared links. A
// request passes its replica's tokeniser (one at a time), a fixed server path, then the engine's queue. One that no
// instance could ever hold is rejected up front, and so is one that finds `max_waiting` requests in the deployment: an
// overload ends with a report. Same input, same result, bit for bit.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/instance.h"
#include "sim/metrics/distribution.h"
#include "sim/metrics/request_record.h"
#include "sim/metrics/time_series.h"
#include "sim/metrics/timeline.h"
#include "sim/workloads/request_source.h"

namespace shardplan {

struct PoolSettings {
  InstanceSettings instance;
  std::int64_t replicas = 1;
  StepTimer* timer = nullptr;            // shared by the replicas
  std::string router = "round_robin";
  bool router_sees_groups = true;        // false: only totals of an instance, groups are taken in turn
};

// What a request costs before the engine sees it.
struct ServerPath {
  Seconds fixed;
  Seconds per_prompt_token;              // tokeniser, one request after another in each replica
};

// Cache from a prefill instance to a decode instance: the sender's link, then the fabric, then the receiver's.
struct TransferSettings {
  double bytes_per_token_ratio = 0;      // of cache, all ranks of an attention group together
  Seconds start_up;
  BytesPerSecond sender;                 // of one attention group of a prefill instance
  BytesPerSecond receiver;               // of one attention group of a decode instance
  std::optional<BytesPerSecond> fabric;  // shared by all; nothing: never a limit
};

// Tiers of prefix cache below the device's own; 0 blocks: there is none.
struct TierSettings {
  std::int64_t host_blocks = 0;          // of each instance
  std::int64_t remote_blocks = 0;        // shared by all instances
  double bytes_per_block_ratio = 0;      // all ranks of an attention group together
  BytesPerSecond host_link;              // of one attention group
  BytesPerSecond remote_link;            // of one attention group, to the store
  [[nodiscard]] bool any() const { return host_blocks > 0 || remote_blocks > 0; }
};

struct ReplicaFault {
  std::int32_t replica = 0;
  bool of_decode_pool = false;           // else of the first pool
  SimTime at;
  SimTime until;
};

// Elastic: an instance goes on with another number of attention groups. `prepare` passes while it serves; then no step starts for
// `pause`. With `drain` newcomers wait and the switch waits for all requests to end; where that takes longer, nothing changes.
struct ScaleTimes {
  std::int64_t groups = 1;
  SimTime prepare;
  SimTime pause;
};

struct ScaleEvent {
  std::int32_t replica = 0;
  SimTime at;
  SimTime prepare;
  SimTime pause;
  std::int64_t groups = 1;
  StepTimer* timer = nullptr;            // of the layout with so many groups
  double busiest_ratio = 1;
  bool drain = false;
  SimTime drain_timeout;
  std::vector<ScaleTimes> otherwise;     // from these groups: where events before it were given up
};

// What became of one.
struct ScaleRecord {
  std::int32_t replica = 0;
  std::int64_t groups_before = 0;
  std::int64_t groups = 0;               // as before where it was given up
  SimTime asked;
  SimTime paused;                        // no step under way
  SimTime resumed;
  std::int64_t lost = 0;                 // requests of groups that went: they start over, or fail
  bool given_up = false;                 // requests did not end in time
  bool ended = true;                     // false: the run was over before it was asked or done; paused and resumed say nothing
};

struct ServiceTargets {
  std::optional<Seconds> ttft;
  std::optional<Seconds> tpot;
  std::optional<Seconds> e2e;
};

struct SimulationInput {
  PoolSettings pool;                     // serves alone, or computes prompts when there is a decode pool
  std::optional<PoolSettings> decode_pool;
  TransferSettings transfer;
  TierSettings tiers;                    // of the first pool
  ServerPath server;
  RequestSource* source = nullptr;
  ServiceTargets targets;
  std::vector<ReplicaFault> faults;
  std::vector<ScaleEvent> scales;        // in time; of one pool, without faults and lower tiers
  bool requeue_lost = true;              // requests of a lost replica or group start over elsewhere; false: they fail
  std::int64_t max_waiting = 200'000;    // requests in the deployment, running ones included
  std::optional<SimTime> stop;           // no arrivals after; what is under way ends
  std::uint64_t seed = 0;                // of routers
  std::size_t series_points = 512;
  RecordSink* records = nullptr;
  Timeline* timeline = nullptr;
};

struct RequestCounts {
  std::int64_t arrived = 0;
  std::int64_t completed = 0;
  std::int64_t rejected = 0;             // never could fit, or the deployment was full
  std::int64_t rejected_too_large = 0;   // of these, the first kind
  std::int64_t failed = 0;               // lost with a replica and not queued again
  std::int64_t preempted = 0;            // preemptions, not requests
};

// Parts of the time of all batches in flight, and what requests waited for on the way to their first token.
struct TimeShares {
  double decode_ratio = 0;               // steps of decodes only
  double mixed_ratio = 0;                // decodes beside prompts
  double prefill_ratio = 0;              // steps of prompts only
  double idle_ratio = 0;
};

struct SimulationResult {
  RequestCounts requests;
  TimeSummary ttft;
  TimeSummary tpot;                      // over requests with at least two tokens, each its mean
  TimeSummary itl;                       // over all gaps between tokens
  TimeSummary e2e;
  TimeSummary queue;                     // from arrival to the first step that works on the request
  TimeSummary transfer;                  // of a prompt's cache to its decode instance, waiting for room included
  double output_tokens_per_second = 0;
  double input_tokens_per_second = 0;
  double goodput_requests_per_second = 0;   // completed requests within all targets
  std::int64_t good_requests = 0;
  Seconds simulated;                     // from the first arrival to the last answer
  Seconds wall;
  std::int64_t events = 0;
  std::int64_t steps = 0;                // skipped ones included
  std::int64_t output_tokens = 0;        // of completed requests
  std::int64_t input_tokens = 0;
  std::int64_t cached_tokens = 0;        // of these, found in the prefix cache
  std::int64_t recomputed_tokens = 0;    // computed again after preemptions
  std::int64_t evicted_blocks = 0;
  double busy_ratio = 0;                 // of instance time, a step under way (over 1 with batches in flight)
  TimeShares shares;
  double transferred_bytes_ratio = 0;    // cache moved between pools
  std::int64_t host_loaded_blocks = 0;   // of prefixes, fetched from lower tiers
  std::int64_t remote_loaded_blocks = 0;
  std::vector<ScaleRecord> scales;
  // Little's law: this mean over time is the rate of completions times their mean time in the deployment, to rounding,
  // when nothing was rejected or failed.
  double mean_requests = 0;
  std::vector<SeriesPoint> series;
};

// InputError on settings out of range or a bad row of the workload.
[[nodiscard]] SimulationResult simulate(const SimulationInput& input);

}  // namespace shardplan
