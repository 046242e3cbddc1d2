// Point to point: one message over one path, between pipeline stages or from prefill to decode.
//   t = base + path latency + volume(F)        rows "send_receive" and "inter.send_receive"
// Source: measured send/receive inside a node and across. Wrong when many such flows share a NIC without being
// declared as concurrent groups.
#include "costmodel/collectives/algorithms.h"
#include "costmodel/collectives/curve.h"

namespace shardplan {
namespace {

bool applies(const CollectiveRequest& request, const GroupLinks&) {
  return request.kind == CollectiveKind::kSendReceive;
}

Seconds time(const CollectiveRequest& request, const GroupLinks& links, const HardwareProfile& profile) {
  const CollectiveCoefficients& row = links.nodes == 1 ? inside(request.kind, profile) : across(request.kind, profile);
  return row.base + links.latency + transfer_time(sent_volume(request, links.ranks), links.ring_bandwidth, row);
}

}  // namespace

CollectiveAlgorithm p2p_algorithm() {
  return {"p2p", "one message over one path [measured send and receive]", applies, time};
}

}  // namespace shardplan
