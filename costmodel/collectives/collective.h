// Times of collectives over the links a group crosses.
//
// One file per algorithm, one row each in collective_algorithms(); the price of a collective is the
// least over the algorithms that apply. Sizes follow NCCL: `message` is the full buffer
// (all_gather, reduce_scatter, all_to_all: ranks x largest part).
#pragma once

#include <string_view>
#include <vector>

#include "base/quantity.h"
#include "hwprofiles/fabric.h"
#include "hwprofiles/profile.h"

namespace shardplan {

// kDispatch, kCombine: tokens to the ranks of their experts and back, by kernels of their own where the profile has
// rows for them, else as an all-to-all.
enum class CollectiveKind { kAllReduce, kAllGather, kReduceScatter, kAllToAll, kSendReceive, kDispatch, kCombine };

[[nodiscard]] constexpr bool moves_tokens(CollectiveKind kind) { return kind == CollectiveKind::kDispatch || kind == CollectiveKind::kCombine; }
[[nodiscard]] std::string_view collective_name(CollectiveKind kind);  // "all_reduce", ...

// Speed-of-light or calibrated coefficients.
enum class PriceMode { kSpeedOfLight, kCalibrated };

// Where one of the two sizes is 0 it follows from the other by the ring's share: 2(N-1)/N of the message for an
// all-reduce, (N-1)/N for the others, all of it point to point.
struct CollectiveRequest {
  CollectiveKind kind = CollectiveKind::kAllReduce;
  double message_bytes = 0;    // full buffer, padding included
  double sent_bytes = 0;       // by the busiest rank on the wire, as the step graph counts them
  bool graph_captured = true;  // launched from a CUDA graph (custom kernels apply)
  std::string_view source;     // whose custom kernels, where the profile tells: "trtllm"
  double token_bytes = 0;      // kDispatch, kCombine: a rank's tokens, each counted once; 0: as an all-to-all
  double experts_per_token = 1;
  bool symmetric = false;      // buffers are registered for NCCL's symmetric-memory kernels, which the machine has
};

// Expected number of `groups` equal groups that `picks` even picks fall into: of the ranks, or domains, that a token goes to.
[[nodiscard]] double distinct_groups(double groups, double picks);

struct CollectiveAlgorithm {
  std::string_view name;  // "ring", "tree", "nvls", "one_shot", "two_shot", "symmetric", "hierarchical", "pairwise", "p2p",
                          // "ep_normal", "ep_low_latency"
  std::string_view help;  // one line, with the formula's source
  bool (*applies)(const CollectiveRequest&, const GroupLinks&);
  Seconds (*time)(const CollectiveRequest&, const GroupLinks&, const HardwareProfile&);
};

[[nodiscard]] const std::vector<CollectiveAlgorithm>& collective_algorithms();

struct CollectivePrice {
  Seconds time;
  std::string_view algorithm;
  Spread spread{0.8, 1.25};  // of the row it was priced with
};

// Least time over the algorithms that apply; zero for one rank or no bytes. kSpeedOfLight: sent_bytes over the
// bandwidth of the links crossed, no latency (the ring's bound for an all-reduce, named "ring").
[[nodiscard]] CollectivePrice price_collective(const CollectiveRequest&, const GroupLinks&, const HardwareProfile&,
                                               PriceMode);

// What no algorithm here beats: the speed-of-light price, but message*(1+1/N)/bandwidth for an all-reduce inside a
// domain that reduces in its switch, where each rank sends its part once and receives the sum once.
[[nodiscard]] Seconds collective_lower_bound(const CollectiveRequest&, const GroupLinks&);

}  // namespace shardplan
