// NCCL's own choice of algorithm and protocol, and the times that it chooses by; and the same for its kernels over
// window-registered (symmetric) memory.
//
// A selector and an extrapolator: against measurements the times are off by -47 % to +15 %, so prices come from fitted curves.
// Source of constants and formulas: NCCL 2.30.7 (src/graph/tuning.cc, src/sym_kernels.cc), written afresh; two versions
// where they changed. Wrong for AllGather over PAT with several ranks per node, and for CollNet, which are left out.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "costmodel/collectives/collective.h"

namespace shardplan {

enum class NcclArch : std::uint8_t { kVolta, kAmpere, kHopper, kBlackwell };
enum class NcclAlgorithm : std::uint8_t { kTree, kRing, kNvls, kNvlsTree };
enum class NcclProtocol : std::uint8_t { kLl, kLl128, kSimple };
[[nodiscard]] std::string_view nccl_name(NcclAlgorithm algorithm);   // "ring", ...
[[nodiscard]] std::string_view nccl_name(NcclProtocol protocol);     // "LL", ...

// What the library finds of the machine; bandwidths in GB/s per channel.
struct NcclSystem {
  NcclArch arch = NcclArch::kHopper;
  int nodes = 1;
  int ranks_per_node = 8;
  int channels = 12;              // of rings and trees
  double bandwidth_intra = 30;
  double bandwidth_inter = 30;
  int nvls_channels = 0;          // 0: the switch does not reduce
  double nvls_intra = 0;
  double nvls_inter = 0;
  bool plain_tree = false;        // no balanced or split trees
  bool amd_cpu = false;
  double network_latency = 0;     // us, as the network plugin reports it
  bool counts_both_ways = false;  // releases up to 2.22 count 2*nodes hops over the network in a ring's all-reduce
};

// 8 A100, 8 H100 or H200, 8 B200, 72 GB200 in one domain, or `nodes` hosts of 8 H100 with a 400 Gb/s adapter each.
[[nodiscard]] NcclSystem nccl_a100();
[[nodiscard]] NcclSystem nccl_hopper(int nodes);
[[nodiscard]] NcclSystem nccl_b200();
[[nodiscard]] NcclSystem nccl_gb200_rack();

struct NcclPrediction {
  NcclAlgorithm algorithm = NcclAlgorithm::kRing;
  NcclProtocol protocol = NcclProtocol::kSimple;
  double microseconds = 0;
};

// Time of one combination, or a negative number where it does not apply. all_reduce, all_gather, reduce_scatter only;
// `bytes`: the larger of what a rank gives and gets (the full buffer).
[[nodiscard]] double nccl_microseconds(const NcclSystem& system, CollectiveKind kind, NcclAlgorithm algorithm, NcclProtocol protocol, double bytes);
// The least of them, which is what the library runs.
[[nodiscard]] NcclPrediction nccl_choice(const NcclSystem& system, CollectiveKind kind, double bytes);

struct SymmetricPrediction {
  std::string_view kernel;        // "RSxLDMC_AGxSTMC", ...
  double microseconds = 0;
  int blocks = 0;
};
// `bytes`: of one rank's argument (its part of an all-gather or a reduce-scatter, the whole of an all-reduce). One domain,
// Hopper and Blackwell; `multicast`: the domain's switch multicasts and reduces.
[[nodiscard]] SymmetricPrediction nccl_symmetric(NcclArch arch, int ranks, CollectiveKind kind, double bytes, bool multicast = true);

// Nothing for devices that NCCL is not tuned for: other makers', and cards without a scale-up fabric.
[[nodiscard]] std::optional<NcclArch> nccl_arch(const DeviceSpec& device);

}  // namespace shardplan
