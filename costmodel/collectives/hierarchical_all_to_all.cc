// Two-stage all-to-all: gathered inside the domain onto the destination's rail, then one message per remote domain.
//   t = base + per_rank*(m-1) + inter.base + path + inter.per_rank*(k-1)
//       + volume(F*(N-m)/(N-1), inter over the NIC) + volume(F, inside)
// Fewer messages than pairwise for one more crossing of the domain. Source: DeepEP's two-stage kernels, whose latency
// grows 22, 27, 29 us over 2, 4, 8 nodes of 8 H200. They hide the crossing inside; here it is added: too slow for
// large messages, where pairwise has the lower price.
#include "costmodel/collectives/algorithms.h"
#include "costmodel/collectives/curve.h"

namespace shardplan {
namespace {

bool applies(const CollectiveRequest& request, const GroupLinks& links) {
  return request.kind == CollectiveKind::kAllToAll && links.nodes > 1 && links.ranks_per_node > 1 && links.even;
}

Seconds time(const CollectiveRequest& request, const GroupLinks& links, const HardwareProfile& profile) {
  const Volume sent = sent_volume(request, links.ranks);
  const double remote_share = static_cast<double>(links.ranks - links.ranks_per_node) / (links.ranks - 1);
  const CollectiveCoefficients& remote = across(request.kind, profile);
  return inside_time(request.kind, sent, links.ranks_per_node, links.intra_bandwidth, profile) + links.latency +
         step_latency(remote, links.nodes - 1) + transfer_time({sent.bytes * remote_share}, links.inter_bandwidth, remote);
}

}  // namespace

CollectiveAlgorithm hierarchical_all_to_all_algorithm() {
  return {"hierarchical_all_to_all", "onto the destination's rail, then one message per remote domain [DeepEP]",
          applies, time};
}

}  // namespace shardplan
