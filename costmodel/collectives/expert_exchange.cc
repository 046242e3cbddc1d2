// Tokens to the ranks of their experts and back, by kernels made for it: the faster of the two kinds that engines have,
// in a captured graph the low-latency one.
//
// normal: a copy for each rank with one of a token's experts; across domains one for each domain, handed on inside it.
//   one domain:  t = base + per_rank*(N-1) + volume(F)                                 rows "dispatch", "combine"
//   k domains:   t = inter.base + inter.per_rank*ceil(log2 k) + path + max(volume(F), volume(D, inter over the NIC))
// low latency: a copy for each expert, written into the receiver's buffer; what is handed on inside a domain is hidden.
//   one domain:  t = base + per_rank*(N-1) + volume(C*(N-1)/N)                         rows "ll_dispatch", "ll_combine"
//   k domains:   t = inter.base + inter.per_rank*ceil(log2 k) + path + volume(C*(k-1)/k, inter over the NIC)
// F: what the busiest rank sends; T: a rank's tokens once; e: experts of a token; D = T*(k-1)*(1-(1-1/k)^e), at most F;
// C = T*e, times what the busiest rank has more than the mean.
// Source: DeepEP's benchmarks on H100, H200 and B200. Wrong for experts that sit on few ranks (their exchange waits for
// one receiver), and on eight nodes, where the normal kernels ran at half of the NIC's rate.
#include <algorithm>
#include <cmath>
#include <string>

#include "costmodel/collectives/algorithms.h"
#include "costmodel/collectives/curve.h"

namespace shardplan {
namespace {

const CollectiveCoefficients& row_of(const char* prefix, CollectiveKind kind, const HardwareProfile& profile) {
  return collective_coefficients(profile, prefix + std::string(collective_name(kind)));
}

bool moves(const CollectiveRequest& request, const GroupLinks&) { return moves_tokens(request.kind); }
// It asks the host for counts: not in a captured graph.
bool runs_from_host(const CollectiveRequest& request, const GroupLinks&) { return moves_tokens(request.kind) && !request.graph_captured; }

Seconds across_latency(const CollectiveCoefficients& row, const GroupLinks& links) {
  return step_latency(row, log2_ceil(links.nodes)) + links.latency;
}

Seconds normal_time(const CollectiveRequest& request, const GroupLinks& links, const HardwareProfile& profile) {
  const CollectiveCoefficients& near = inside(request.kind, profile);
  const Seconds handed = transfer_time(sent_volume(request, links.ranks), links.intra_bandwidth, near);
  if (links.nodes == 1) return step_latency(near, links.ranks - 1) + handed;
  const CollectiveCoefficients& far = across(request.kind, profile);
  return across_latency(far, links) + std::max(handed, transfer_time({domain_copies(request, links)}, links.inter_bandwidth, far));
}

Seconds low_latency_time(const CollectiveRequest& request, const GroupLinks& links, const HardwareProfile& profile) {
  const double others = (links.ranks - 1.0) / links.ranks;
  const double imbalance = sent_volume(request, links.ranks).bytes / (request.message_bytes * others);   // of the busiest rank
  const double copies = request.token_bytes * request.experts_per_token * imbalance;
  if (links.nodes == 1) {
    const CollectiveCoefficients& near = row_of("ll_", request.kind, profile);
    return step_latency(near, links.ranks - 1) + transfer_time({copies * others}, links.intra_bandwidth, near);
  }
  const CollectiveCoefficients& far = row_of("inter.ll_", request.kind, profile);
  return across_latency(far, links) + transfer_time({copies * (links.nodes - 1) / links.nodes}, links.inter_bandwidth, far);
}

}  // namespace

bool has_expert_kernels(CollectiveKind kind, const GroupLinks& links, const HardwareProfile& profile) {
  const std::string name(collective_name(kind));
  const auto has = [&](const std::string& row) { return profile.collectives.find(row) != profile.collectives.end(); };
  return links.peer_access && has(name) && has("ll_" + name) && (links.nodes == 1 || (has("inter." + name) && has("inter.ll_" + name)));
}

double distinct_groups(double groups, double picks) { return groups * (1 - std::pow(1 - 1 / groups, picks)); }

double domain_copies(const CollectiveRequest& request, const GroupLinks& links) {
  const double domains = links.nodes;
  const double copies = distinct_groups(domains, request.experts_per_token) * (domains - 1) / domains;
  return std::min(request.token_bytes * copies, sent_volume(request, links.ranks).bytes);
}

CollectiveAlgorithm ep_normal_algorithm() {
  return {"ep_normal", "a copy of a token for each rank, one for each remote domain [DeepEP normal]", runs_from_host, normal_time};
}

CollectiveAlgorithm ep_low_latency_algorithm() {
  return {"ep_low_latency", "a copy of a token for each expert, without a handshake [DeepEP low latency]", moves, low_latency_time};
}

}  // namespace shardplan
