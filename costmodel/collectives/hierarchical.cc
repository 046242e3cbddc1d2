// Hierarchical: inside the domains first, then across them with 1/m of the message on each NIC, then inside again.
//   all-reduce     = reduce-scatter (m ranks) + all-reduce of message/m over k domains + all-gather (m ranks)
//   all-gather     = all-gather of message/m over k domains + all-gather (m ranks)
//   reduce-scatter = the same, reversed
// Across domains: inter.base + ceil(log2 k)*exchange + volume(share*message/m, inter), share = 2(k-1)/k for an
// all-reduce, (k-1)/k otherwise. Even groups only. Source: NCCL's CollNet and SHARP-less multi-node schemes; the
// phases follow one another here, where libraries overlap them: too slow for messages above about 64 MiB.
#include "costmodel/collectives/algorithms.h"
#include "costmodel/collectives/curve.h"

namespace shardplan {
namespace {

bool applies(const CollectiveRequest& request, const GroupLinks& links) {
  const bool moves_parts = request.kind == CollectiveKind::kAllReduce || request.kind == CollectiveKind::kAllGather ||
                           request.kind == CollectiveKind::kReduceScatter;
  return moves_parts && links.nodes > 1 && links.ranks_per_node > 1 && links.even;
}

Seconds inside_phase(CollectiveKind kind, double message_bytes, const GroupLinks& links,
                     const HardwareProfile& profile) {
  const int ranks = links.ranks_per_node;
  return inside_time(kind, {message_bytes * (ranks - 1) / ranks}, ranks, links.intra_bandwidth, profile);
}

Seconds across_phase(const CollectiveRequest& request, const GroupLinks& links, const HardwareProfile& profile) {
  const CollectiveCoefficients& row = across(request.kind, profile);
  const CollectiveRequest part{.kind = request.kind, .message_bytes = request.message_bytes / links.ranks_per_node};
  return row.base + exchange_latency(request.kind, links, profile) * log2_ceil(links.nodes) +
         transfer_time(sent_volume(part, links.nodes), links.inter_bandwidth, row);
}

Seconds time(const CollectiveRequest& request, const GroupLinks& links, const HardwareProfile& profile) {
  const Seconds middle = across_phase(request, links, profile);
  if (request.kind != CollectiveKind::kAllReduce) {
    return inside_phase(request.kind, request.message_bytes, links, profile) + middle;
  }
  return inside_phase(CollectiveKind::kReduceScatter, request.message_bytes, links, profile) + middle +
         inside_phase(CollectiveKind::kAllGather, request.message_bytes, links, profile);
}

}  // namespace

CollectiveAlgorithm hierarchical_algorithm() {
  return {"hierarchical", "inside the domains, across them with 1/m of the message per NIC, inside again", applies,
          time};
}

}  // namespace shardplan
