// Double binary tree over the domains, a chain inside each: all-reduce across domains in logarithmic time.
//   t = base + per_rank*(m-1) + inter.base + ceil(log2 k)*exchange + volume(2*message, inter)
// m ranks in the fullest of k domains. Each rank is a leaf of one tree and inside the other, so it sends the message
// twice (NCCL's busbw factor 1/2). Source: NCCL's tuning model; its tree/LL gives 25/35/45/55 us for 1 KiB on
// 2/4/8/16 nodes of 8 H100. Wrong for counts of domains between powers of two, which it rounds up.
#include "costmodel/collectives/algorithms.h"
#include "costmodel/collectives/curve.h"

namespace shardplan {
namespace {

bool applies(const CollectiveRequest& request, const GroupLinks& links) {
  return request.kind == CollectiveKind::kAllReduce && links.nodes > 1;
}

Seconds time(const CollectiveRequest& request, const GroupLinks& links, const HardwareProfile& profile) {
  const Seconds remote = across(request.kind, profile).base + exchange_latency(request.kind, links, profile) * log2_ceil(links.nodes);
  return across_time(request.kind, links.ranks_per_node - 1, remote, {2 * request.message_bytes}, links.ring_bandwidth, profile);
}

}  // namespace

CollectiveAlgorithm tree_algorithm() {
  return {"tree", "double binary tree over domains, 2*ceil(log2 k) network steps [NCCL tuning model]", applies, time};
}

}  // namespace shardplan
