// Two-shot: a reduce-scatter and an all-gather in one kernel. The ring's volume, two barriers.
//   t = base + per_rank*(N-1) + (F + F^ramp*half^(1-ramp)) / (bandwidth*efficiency),  F = 2(N-1)/N*message
// with the "graph_all_reduce" row; the second barrier is in the ramp, which the fit puts at small messages.
// Source: custom all-reduce tables, 1 MiB to 64 MiB, where engines go over to NCCL.
#include "costmodel/collectives/algorithms.h"
#include "costmodel/collectives/curve.h"
#include "costmodel/collectives/custom_all_reduce.h"

namespace shardplan {
namespace {

constexpr Bytes kLimit{64 * kMiB};

bool applies(const CollectiveRequest& request, const GroupLinks& links) {
  return custom_all_reduce_applies(request, links, kLimit);
}

Seconds time(const CollectiveRequest& request, const GroupLinks& links, const HardwareProfile& profile) {
  const CollectiveCoefficients& row = collective_coefficients(profile, "graph_all_reduce", request.source);
  return step_latency(row, links.ranks - 1) +
         transfer_time(sent_volume(request, links.ranks), links.intra_bandwidth, row);
}

}  // namespace

CollectiveAlgorithm two_shot_algorithm() {
  return {"two_shot", "reduce-scatter and all-gather in one kernel, up to 64 MiB [vLLM, TensorRT-LLM]", applies, time};
}

}  // namespace shardplan
