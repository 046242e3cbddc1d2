// All-reduce in the switch (NVLS, SHARP): each rank sends its message once; the switch adds and multicasts.
//   t = base + per_rank*(N-1) + volume(message*(1+1/N))
// with the profile's "nvls_all_reduce" row, or "graph_nvls_all_reduce" for the engines' own multicast kernels, which
// a CUDA graph launches on at most eight ranks.
// Each rank sends its buffer to the switch, and stores the 1/N of the sum it owns for the multicast.
// Only where the whole group is inside one domain that reduces: two nodes joined by NICs do not qualify.
// Source: measured 8-GPU all-reduce above 16 MiB (algorithm bandwidth 275 GB/s on a 450 GB/s link): busbw may exceed
// the line rate, so nothing is clamped to it. Wrong below about 4 MiB outside a graph, where the ring takes over.
#include "costmodel/collectives/algorithms.h"
#include "costmodel/collectives/curve.h"
#include "costmodel/collectives/custom_all_reduce.h"

namespace shardplan {
namespace {

constexpr std::string_view kOwnKernel = "graph_nvls_all_reduce";
constexpr Bytes kLimit{64 * kMiB};

bool applies(const CollectiveRequest& request, const GroupLinks& links) {
  return request.kind == CollectiveKind::kAllReduce && links.nodes == 1 && links.in_switch_reduction && links.ranks > 2;
}

Seconds time(const CollectiveRequest& request, const GroupLinks& links, const HardwareProfile& profile) {
  const bool own_kernel = custom_all_reduce_applies(request, links, kLimit) && profile.collectives.contains(kOwnKernel);
  const CollectiveCoefficients& row = collective_coefficients(profile, own_kernel ? kOwnKernel : "nvls_all_reduce", request.source);
  const Volume sent{request.message_bytes * (1 + 1.0 / links.ranks)};
  return step_latency(row, links.ranks - 1) + transfer_time(sent, links.intra_bandwidth, row);
}

}  // namespace

CollectiveAlgorithm nvls_algorithm() {
  return {"nvls", "reduced in the domain's switch, message*(1+1/N) sent [measured 8-GPU NCCL]", applies, time};
}

}  // namespace shardplan
