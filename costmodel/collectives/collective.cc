#include "costmodel/collectives/collective.h"

#include <algorithm>

#include "base/errors.h"
#include "costmodel/collectives/algorithms.h"
#include "costmodel/collectives/curve.h"

namespace shardplan {
namespace {

// The algorithm whose volume the speed of light is counted with.
std::string_view bounding_algorithm(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::kAllToAll:
    case CollectiveKind::kDispatch:
    case CollectiveKind::kCombine:
      return "pairwise";
    case CollectiveKind::kSendReceive:
      return "p2p";
    default:
      return "ring";
  }
}

bool nothing_moves(const CollectiveRequest& request, const GroupLinks& links) {
  return links.ranks <= 1 || sent_volume(request, links.ranks).bytes <= 0;
}

// The message from what is sent, by the ring's share, where the request does not say.
CollectiveRequest completed(CollectiveRequest request, int ranks) {
  if (request.message_bytes > 0) return request;
  const double sent_of_unit = sent_volume({.kind = request.kind, .message_bytes = 1}, ranks).bytes;
  request.message_bytes = request.sent_bytes / sent_of_unit;
  return request;
}

// Not measured: NCCL's own estimate.
constexpr Spread kEstimated{0.7, 1.4};

// Of the row that the price rests on most.
Spread spread_of(std::string_view algorithm, const CollectiveRequest& request, const GroupLinks& links, const HardwareProfile& profile) {
  if (algorithm == "ep_low_latency") return collective_coefficients(profile, (links.nodes > 1 ? "inter.ll_" : "ll_") + std::string(collective_name(request.kind))).spread;
  if (algorithm == "symmetric") return kEstimated;
  if (links.nodes > 1) return across(request.kind, profile).spread;
  if (algorithm == "one_shot" || algorithm == "two_shot") return collective_coefficients(profile, "graph_all_reduce", request.source).spread;
  if (algorithm == "nvls") return collective_coefficients(profile, "nvls_all_reduce").spread;
  return inside(request.kind, profile).spread;
}

Seconds speed_of_light(const CollectiveRequest& request, const GroupLinks& links) {
  const double sent = sent_volume(request, links.ranks).bytes;
  if (moves_tokens(request.kind) && request.token_bytes > 0) {   // one copy crosses to a domain and is handed on inside it
    const double across = links.nodes > 1 ? domain_copies(request, links) / links.inter_bandwidth.value() : 0;
    return Seconds(std::max(across, std::max(0.0, sent - domain_copies(request, links)) / links.intra_bandwidth.value()));
  }
  const bool all_to_all = request.kind == CollectiveKind::kAllToAll || moves_tokens(request.kind);
  const BytesPerSecond bandwidth = all_to_all ? links.all_to_all_bandwidth : links.ring_bandwidth;
  return Seconds(sent / bandwidth.value());
}

}  // namespace

std::string_view collective_name(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::kAllReduce:
      return "all_reduce";
    case CollectiveKind::kAllGather:
      return "all_gather";
    case CollectiveKind::kReduceScatter:
      return "reduce_scatter";
    case CollectiveKind::kAllToAll:
      return "all_to_all";
    case CollectiveKind::kSendReceive:
      return "send_receive";
    case CollectiveKind::kDispatch:
      return "dispatch";
    case CollectiveKind::kCombine:
      return "combine";
  }
  throw InternalError("unknown collective");
}

const std::vector<CollectiveAlgorithm>& collective_algorithms() {
  static const std::vector<CollectiveAlgorithm> algorithms{
      ring_algorithm(),     tree_algorithm(),         nvls_algorithm(),     one_shot_algorithm(),
      two_shot_algorithm(), symmetric_algorithm(), hierarchical_algorithm(), pairwise_algorithm(), hierarchical_all_to_all_algorithm(),
      p2p_algorithm(),      ep_normal_algorithm(),    ep_low_latency_algorithm()};
  return algorithms;
}

CollectivePrice price_collective(const CollectiveRequest& asked, const GroupLinks& links,
                                 const HardwareProfile& profile, PriceMode mode) {
  if (nothing_moves(asked, links)) return {Seconds(0), "none", {1, 1}};
  CollectiveRequest request = completed(asked, links.ranks);
  if (mode == PriceMode::kSpeedOfLight) return {speed_of_light(request, links), bounding_algorithm(request.kind), {1, 1}};
  if (moves_tokens(request.kind) && (request.token_bytes <= 0 || !has_expert_kernels(request.kind, links, profile))) request.kind = CollectiveKind::kAllToAll;
  CollectivePrice best{Seconds(0), "", {}};
  for (const CollectiveAlgorithm& algorithm : collective_algorithms()) {
    if (!algorithm.applies(request, links)) continue;
    const Seconds time = algorithm.time(request, links, profile);
    if (best.algorithm.empty() || time < best.time) best = {time, algorithm.name, {}};
  }
  ensure(!best.algorithm.empty(), "some algorithm applies to every collective");
  best.spread = spread_of(best.algorithm, request, links, profile);
  return best;
}

Seconds collective_lower_bound(const CollectiveRequest& asked, const GroupLinks& links) {
  if (nothing_moves(asked, links)) return Seconds(0);
  const CollectiveRequest request = completed(asked, links.ranks);
  if (request.kind != CollectiveKind::kAllReduce || !links.in_switch_reduction) return speed_of_light(request, links);
  const double in_switch = request.message_bytes * (1 + 1.0 / links.ranks);
  return std::min(Seconds(in_switch / links.intra_bandwidth.value()), speed_of_light(request, links));
}

}  // namespace shardplan
