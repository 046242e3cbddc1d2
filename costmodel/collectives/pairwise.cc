// Pairwise all-to-all: every rank sends to every other directly.
//   F = (N-1)/N*message, or what the busiest rank sends
//   one domain:  t = base + per_rank*(N-1) + volume(F)
//   k domains:   t = base + per_rank*(m-1) + inter.base + path + inter.per_rank*(N-m) + volume(F, inter)
// The bandwidth is that of the most loaded link when all exchange evenly, NICs included; each of the N-m remote
// peers costs a message. Source: NCCL's grouped send and receive; fits of measured all-to-all in one node.
// Wrong for uneven loads, whose busiest receiver is not seen here.
#include "costmodel/collectives/algorithms.h"
#include "costmodel/collectives/curve.h"

namespace shardplan {
namespace {

bool applies(const CollectiveRequest& request, const GroupLinks&) { return request.kind == CollectiveKind::kAllToAll; }

Seconds time(const CollectiveRequest& request, const GroupLinks& links, const HardwareProfile& profile) {
  const Volume sent = sent_volume(request, links.ranks);
  if (links.nodes == 1) return inside_time(request.kind, sent, links.ranks, links.all_to_all_bandwidth, profile);
  const Seconds remote = links.latency + step_latency(across(request.kind, profile), links.ranks - links.ranks_per_node);
  return across_time(request.kind, links.ranks_per_node - 1, remote, sent, links.all_to_all_bandwidth, profile);
}

}  // namespace

CollectiveAlgorithm pairwise_algorithm() {
  return {"pairwise", "every rank to every other directly [NCCL grouped send and receive]", applies, time};
}

}  // namespace shardplan
