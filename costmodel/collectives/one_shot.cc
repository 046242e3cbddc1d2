// One-shot: every rank reads everyone's whole buffer and adds. One barrier, N-1 times the message.
//   t = base + per_rank*(N-1) + (N-1)*message / (bandwidth*efficiency)      with the "graph_all_reduce" row
// Source: custom all-reduce tables (vLLM, TensorRT-LLM). Engines use it up to 2 to 32 MB by group size.
#include "costmodel/collectives/algorithms.h"
#include "costmodel/collectives/curve.h"
#include "costmodel/collectives/custom_all_reduce.h"

namespace shardplan {
namespace {

constexpr Bytes kLimit{8 * kMiB};

bool applies(const CollectiveRequest& request, const GroupLinks& links) {
  return custom_all_reduce_applies(request, links, kLimit);
}

Seconds time(const CollectiveRequest& request, const GroupLinks& links, const HardwareProfile& profile) {
  const CollectiveCoefficients& row = collective_coefficients(profile, "graph_all_reduce", request.source);
  const Seconds volume((links.ranks - 1) * request.message_bytes / (links.intra_bandwidth.value() * row.efficiency));
  return step_latency(row, links.ranks - 1) + volume;
}

}  // namespace

CollectiveAlgorithm one_shot_algorithm() {
  return {"one_shot", "each rank reads all buffers, one barrier, up to 8 MiB [vLLM, TensorRT-LLM]", applies, time};
}

}  // namespace shardplan
