// What a machine is: one device's peaks, the node around it, the fabric between nodes.
//
// Rates are dense and per direction. Every vendor or measured number carries its source in the
// JSON it was read from. A profile without calibrated coefficients gives speed-of-light prices.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/quantity.h"
#include "hwprofiles/kernel_model.h"

namespace shardplan {

// Arithmetic formats a device has a peak for; same order as MathFormat in models/ (asserted in costmodel/).
inline constexpr int kMathFormats = 4;  // bf16, fp8, fp4, int8

// Two efficiencies and a fixed cost of one kernel family in one format:
//   t = fixed + max(flops / (peak * compute_efficiency), bytes / (bandwidth * memory_efficiency)).
struct KernelCoefficients {
  Seconds fixed{4e-6};
  double compute_efficiency = 0.7;
  double memory_efficiency = 0.85;
};

struct DeviceSpec {
  std::string name;
  std::string vendor;
  std::string architecture;  // "hopper", "blackwell", ...
  int sm_count = 0;
  Bytes memory;    // what the driver reports, in bytes
  Bytes reserved;  // of it, by the driver: programs do not see it (CUDA's total is less than nvidia-smi's)
  BytesPerSecond memory_bandwidth;
  std::array<FlopsPerSecond, kMathFormats> peak{};  // dense; 0: format not supported
  double power_watts = 0;
  double sustained = 1;  // share of the peak that the power cap leaves dense products that run for long

  [[nodiscard]] Bytes visible_memory() const { return reserved < memory ? memory - reserved : Bytes(0); }
};

// One kind of link, one direction.
struct LinkSpec {
  std::string kind;  // "nvlink", "nvswitch", "pcie", "nic", "leaf", "spine"
  BytesPerSecond bandwidth;
  Seconds latency;
};

// Collective coefficients inside one fast domain or across nodes (see costmodel/collectives/):
//   t = base + per_rank*(n-1) + (F + F^ramp * half^(1-ramp)) / (bandwidth*efficiency)
struct CollectiveCoefficients {
  Seconds base{5e-6};
  Seconds per_rank{1e-6};
  double efficiency = 0.8;
  Bytes half{4'000'000};  // where the ramp doubles the volume term
  double ramp = 0.5;
  Spread spread{0.8, 1.25};  // 10th and 90th percentile of measured/predicted; the default is an estimate
  FitRecord fit;
};

// A mesh has a link per pair: no real one is larger, and links grow with the square.
inline constexpr int kMaxMeshDomain = 16;

struct NodeSpec {
  int devices = 8;                   // GPUs that one host holds
  int domain = 8;                    // GPUs joined by the fast fabric (NVL72: 72; a bridge pair: 2)
  LinkSpec scale_up;                 // device to switch, or "pcie" where there is none
  bool mesh = false;                 // no switch: scale_up joins each pair of a domain's devices
  bool in_switch_reduction = false;  // NVLS / SHARP inside the domain
  LinkSpec pcie;                     // device to host
  int nics = 8;
  LinkSpec nic;            // one NIC to its leaf
  bool nic_direct = true;  // GPUDirect RDMA: no host hops
};

struct FabricSpec {
  int nodes_per_leaf = 32;        // of one rail group
  double oversubscription = 1.0;  // leaf-to-spine
  Seconds leaf_latency{0.5e-6};
  Seconds spine_latency{0.5e-6};
  bool rail_optimised = true;
};

struct HardwareProfile {
  std::string name;   // "h200-sxm"
  std::string title;  // "NVIDIA H200 SXM 141 GB, HGX 8-GPU node"
  DeviceSpec device;
  NodeSpec node;
  FabricSpec fabric;
  bool calibrated = false;  // false: mode sol only by default
  std::map<std::string, KernelCoefficients>
      kernels;  // by "family" or "family.format", e.g. "gemm.fp8", "attention_decode"
  std::map<std::string, KernelModel> kernel_models;  // fitted forms: "gemm.fp8", "attention_decode.bf16.d128.window",
                                                     // "grouped_gemm.fp8_block"; "@<source>" of another library
  std::map<std::string, CollectiveCoefficients, std::less<>>
      collectives;                             // by kind: "all_reduce", ...; "graph_all_reduce" for custom kernels;
                                               // "inter.<kind>" across nodes
  double price_per_hour = 0;                   // USD per GPU-hour; 0: not given
  std::map<std::string, std::string> sources;  // JSON pointer -> source
};

// `name` is a catalog name (or alias, any case) or a JSON file. InputError otherwise, nearest name given.
[[nodiscard]] HardwareProfile load_hardware(const std::string& name);
// The same machine in the network that a JSON file describes: a document with "fabric", "node" or both, each as in a
// machine's own file (a "fabric" replaces the whole fabric, links of "node" are replaced one by one).
[[nodiscard]] HardwareProfile load_hardware(const std::string& name, const std::string& network_file);

// Reads one document of the format hardware-1 (hwprofiles/README.md); `where` names it in errors. Strict: an unknown
// key, a missing unit or source, a negative or impossible number is an InputError.
[[nodiscard]] HardwareProfile read_hardware(std::string_view json, const std::string& where);

// What is built in, in alphabetical order; nothing is parsed for it.
struct HardwareEntry {
  std::string name;
  std::string title;
};
[[nodiscard]] const std::vector<HardwareEntry>& hardware_catalog();

// Coefficients of `family` in `format` ("gemm", "fp8"): where fitted models answer, the least launch and the best
// efficiencies among them, which none of them beats; the exact row, else the family's, else "default", else the
// values a KernelCoefficients starts with.
[[nodiscard]] const KernelCoefficients& kernel_coefficients(const HardwareProfile&, const std::string& family,
                                                            const std::string& format);

// Coefficients of a collective `kind` ("all_reduce", "inter.all_to_all"): the row of `source` ("trtllm") where there is one, else
// the exact row, else the all_reduce row of
// the same scope ("" or "inter."), else the values a CollectiveCoefficients starts with.
[[nodiscard]] const CollectiveCoefficients& collective_coefficients(const HardwareProfile&, std::string_view kind,
                                                                    std::string_view source = {});

}  // namespace shardplan
