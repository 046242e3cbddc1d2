// Ring: every rank passes N-1 parts on to its successor; an all-reduce goes round twice.
//   F = 2(N-1)/N*message (all-reduce), (N-1)/N*message (all-gather, reduce-scatter)
//   one domain:  t = base + per_rank*(N-1) + volume(F)
//   k domains:   t = base + per_rank*(N-k) + inter.base + (k-1)*exchange + volume(F, inter)
// Source: NCCL's tuning model (2(N-1) steps, 2(k-1) of them over the network). Measured small messages on one node
// are slower than that model on some machines, so the steps are fitted. Wrong where NCCL pipelines its tree deeper.
#include "costmodel/collectives/algorithms.h"
#include "costmodel/collectives/curve.h"

namespace shardplan {
namespace {

bool applies(const CollectiveRequest& request, const GroupLinks&) {
  return request.kind == CollectiveKind::kAllReduce || request.kind == CollectiveKind::kAllGather ||
         request.kind == CollectiveKind::kReduceScatter;
}

Seconds time(const CollectiveRequest& request, const GroupLinks& links, const HardwareProfile& profile) {
  const Volume sent = sent_volume(request, links.ranks);
  if (links.nodes == 1) return inside_time(request.kind, sent, links.ranks, links.ring_bandwidth, profile);
  const Seconds remote = across(request.kind, profile).base + exchange_latency(request.kind, links, profile) * (links.nodes - 1);
  return across_time(request.kind, links.ranks - links.nodes, remote, sent, links.ring_bandwidth, profile);
}

}  // namespace

CollectiveAlgorithm ring_algorithm() {
  return {"ring", "each rank to its successor, (N-1) steps, twice for an all-reduce [NCCL tuning model]", applies,
          time};
}

}  // namespace shardplan
