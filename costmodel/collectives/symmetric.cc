// NCCL's kernels over symmetric memory: buffers that every rank of a domain has registered, read and reduced in place.
//   t = max(base + max(0, bytes on the bus / bandwidth of the blocks it takes), smoothed     (nccl_tuner.h)
//           least volume / (bandwidth*efficiency))
// Source: NCCL's own model of these kernels (2.27 and later), which is what it chooses by. It promises more than the links
// have at 64 MiB, so the volume moves no faster than other kernels of this kind did: an engine's over multicast, or NCCL's.
// No table of measured ones was found: the spread is wide. Published: faster than custom all-reduces from 128 KiB (8 ranks)
// or 512 KiB (4) on.
#include <algorithm>

#include "base/errors.h"
#include "costmodel/collectives/algorithms.h"
#include "costmodel/collectives/curve.h"
#include "costmodel/collectives/nccl_tuner.h"

namespace shardplan {
namespace {

bool applies(const CollectiveRequest& request, const GroupLinks& links) {
  const bool has_kernel = request.kind == CollectiveKind::kAllReduce || request.kind == CollectiveKind::kAllGather ||
                          request.kind == CollectiveKind::kReduceScatter;
  return request.symmetric && has_kernel && links.nodes == 1 && links.peer_access;
}

double efficiency(CollectiveKind kind, const GroupLinks& links, const HardwareProfile& profile) {
  const bool multicast = kind == CollectiveKind::kAllReduce && links.in_switch_reduction && profile.collectives.contains("graph_nvls_all_reduce");
  return multicast ? collective_coefficients(profile, "graph_nvls_all_reduce").efficiency : inside(kind, profile).efficiency;
}

Seconds time(const CollectiveRequest& request, const GroupLinks& links, const HardwareProfile& profile) {
  const auto arch = nccl_arch(profile.device);
  ensure(arch && *arch >= NcclArch::kHopper, "symmetric memory is asked for where NCCL has kernels for it");
  const double part = request.kind == CollectiveKind::kAllReduce ? 1 : links.ranks;
  const double estimate = nccl_symmetric(*arch, links.ranks, request.kind, request.message_bytes / part, links.in_switch_reduction).microseconds * kMicro;
  return std::max(Seconds(estimate), collective_lower_bound(request, links) * (1 / efficiency(request.kind, links, profile)));
}

}  // namespace

CollectiveAlgorithm symmetric_algorithm() {
  return {"symmetric", "NCCL's kernels over registered buffers of one domain [NCCL's model of them]", applies, time};
}

}  // namespace shardplan
