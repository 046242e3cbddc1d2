#include "costmodel/collectives/nccl_tuner.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/errors.h"

namespace shardplan {
namespace {

using Row3 = std::array<double, 3>;

template <class Enum>
constexpr std::size_t at(Enum value) {
  return static_cast<std::size_t>(value);
}

// Microseconds by algorithm (tree, ring, NVLS, NVLS tree) and protocol (LL, LL128, Simple).
constexpr std::array<Row3, 4> kBaseLatency{{{6.8, 14.0, 8.4}, {6.6, 14.0, 8.4}, {0, 0, 0}, {0, 0, 0}}};
constexpr std::array<Row3, 4> kNvlinkLatency{{{0.6, 1.25, 4.0}, {0.6, 1.9, 3.4}, {0, 0, 25}, {0, 0, 25}}};
constexpr std::array<Row3, 4> kNetworkLatency{{{5.0, 8.5, 14}, {2.7, 4.0, 14.0}, {0, 0, 18}, {0, 0, 20.9}}};
// GB/s by architecture and by 1, 2, 4 and more nodes.
constexpr std::array<Row3, 4> kLlMost{{{39, 39, 20.4}, {87.7, 22.5, 19.0}, {141, 45, 35}, {282, 90, 70}}};
constexpr std::array<Row3, 4> kRingLl128{{{20, 20, 20}, {20, 20, 20}, {36.7, 36.7, 36.7}, {40, 40, 40}}};
constexpr std::array<Row3, 4> kTreeLl128{{{20, 20, 20}, {20, 20, 20}, {36.7, 36.7, 29.0}, {55.6, 31.67, 20.0}}};
constexpr std::array<Row3, 4> kTree{{{26.5, 18.5, 10}, {24, 23.6, 17.8}, {38.7, 41.4, 36}, {70, 42.8, 24}}};
constexpr std::array<Row3, 4> kNvlsTree{{{26.5, 18.5, 10}, {24, 23.6, 17.8}, {0, 57.7, 45.5}, {0, 96, 80}}};
constexpr std::array<double, 4> kNvlsEfficiency{0, 0, 0.85, 0.74};
// By floor(log2(bytes / 64)).
constexpr std::array<std::array<double, 24>, 3> kTreeCorrection{
    {{1, 1, 1, 1, .9, .8, .7, .7, .7, .7, .6, .5, .4, .4, .5, .6, .7, .8, .9, 1, 1, 1, 1, 1},
     {1, 1, 1, 1, 1, .9, .8, .8, .8, .7, .6, .6, .6, .6, .6, .6, .8, .9, .9, .9, .9, 1, 1, 1},
     {.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5, .5, .5, .5, .6, .7, .8, .7, .7, .8, .9, .9, .9}}};

struct Case {
  const NcclSystem& system;
  CollectiveKind kind;
  NcclAlgorithm algorithm;
  NcclProtocol protocol;

  [[nodiscard]] double ranks() const { return static_cast<double>(system.nodes) * system.ranks_per_node; }
  [[nodiscard]] bool reduces_all() const { return kind == CollectiveKind::kAllReduce; }
  [[nodiscard]] double steps() const { return reduces_all() ? 2 * (ranks() - 1) : ranks() - 1; }
  [[nodiscard]] std::size_t arch() const { return at(system.arch); }
  [[nodiscard]] std::size_t by_nodes() const { return system.nodes <= 2 ? static_cast<std::size_t>(system.nodes) - 1 : 2; }
  [[nodiscard]] bool in_switch() const { return algorithm == NcclAlgorithm::kNvls || algorithm == NcclAlgorithm::kNvlsTree; }
};

bool applies(const Case& c) {
  const bool simple = c.protocol == NcclProtocol::kSimple;
  switch (c.algorithm) {
    case NcclAlgorithm::kRing: return true;
    case NcclAlgorithm::kTree: return c.reduces_all();
    case NcclAlgorithm::kNvls: return simple && c.system.nodes == 1 && c.system.nvls_channels >= 2;
    case NcclAlgorithm::kNvlsTree: return simple && c.system.nodes > 1 && c.reduces_all() && c.system.nvls_channels >= 2;
  }
  return false;
}

double ll_most(const Case& c) {
  const std::size_t row = c.system.nodes == 1 ? c.arch() : c.system.amd_cpu ? 1 : 0;
  return kLlMost[row][c.by_nodes()];
}

double switch_bandwidth(const Case& c) {
  const NcclSystem& s = c.system;
  const double channels = s.nvls_channels;
  const double ways = c.reduces_all() ? 2 : (s.ranks_per_node - 1.0) / s.ranks_per_node;
  const double intra = s.nvls_intra * kNvlsEfficiency[c.arch()] * (channels - 1) / channels * ways;
  double one = intra;
  if (c.algorithm == NcclAlgorithm::kNvlsTree) {
    one = std::min({one, s.nvls_inter * (s.nodes <= 2 ? 2 : 1), kNvlsTree[c.arch()][c.by_nodes()]});
  } else {
    one = std::min(one, s.nvls_inter);
  }
  return channels * one;
}

double tree_bandwidth(const Case& c, double bus, double channels) {
  bus = std::min(bus * 0.92, channels * kTree[c.arch()][c.by_nodes()]);
  if (c.protocol == NcclProtocol::kLl) bus = std::min(bus / 3.8, ll_most(c));
  if (c.protocol == NcclProtocol::kLl128) {
    bus = std::min(bus * (c.system.nodes == 1 ? 7.0 / 9 : 120.0 / 128), channels * kTreeLl128[c.arch()][c.by_nodes()]);
  }
  return c.system.plain_tree ? bus * 0.85 : bus;
}

// GB/s of the buffer (not of the bus).
double bandwidth(const Case& c) {
  const NcclSystem& s = c.system;
  const double to_buffer = c.ranks() / c.steps();
  if (c.in_switch()) return switch_bandwidth(c) * (c.reduces_all() ? to_buffer : 1);
  const double channels = s.channels;
  const double bus = channels * (s.nodes <= 2 ? s.bandwidth_intra : s.bandwidth_inter);
  if (c.algorithm == NcclAlgorithm::kTree) return tree_bandwidth(c, bus, channels) * 0.5;
  if (c.protocol == NcclProtocol::kLl) return std::min(ll_most(c), bus * 0.5) * to_buffer;
  if (c.protocol == NcclProtocol::kLl128) return std::min(bus * 0.92, channels * kRingLl128[c.arch()][c.by_nodes()]) * to_buffer;
  return bus * to_buffer;
}

double ring_latency(const Case& c, double intra, double inter, double bytes) {
  const NcclSystem& s = c.system;
  const bool simple = c.protocol == NcclProtocol::kSimple;
  const double overhead = s.amd_cpu ? 2 : 1;
  if (s.nodes > 1) intra = std::max(intra, overhead * (simple ? 3 : 1));
  double hops = 0;
  if (s.nodes > 1) hops = c.reduces_all() ? 2.0 * (s.counts_both_ways ? s.nodes : s.nodes - 1) : s.nodes - 1;
  const double latency = kBaseLatency[at(c.algorithm)][at(c.protocol)] + (c.steps() - hops) * intra + hops * inter;
  const bool plateau = simple && s.nodes > 1 && c.reduces_all() && bytes / (s.channels * c.ranks()) >= 64;
  return plateau ? latency * 1.4 : latency;
}

double latency(const Case& c, double bytes) {
  const NcclSystem& s = c.system;
  const double base = kBaseLatency[at(c.algorithm)][at(c.protocol)];
  const double intra = kNvlinkLatency[at(c.algorithm)][at(c.protocol)];
  const std::size_t network = s.ranks_per_node == 1 ? at(NcclAlgorithm::kTree) : at(c.algorithm);
  const double inter = kNetworkLatency[network][at(c.protocol)] + s.network_latency * (c.protocol == NcclProtocol::kSimple ? 2 : 1);
  const double levels = std::floor(std::log2(static_cast<double>(s.nodes)));
  switch (c.algorithm) {
    case NcclAlgorithm::kRing: return ring_latency(c, intra, inter, bytes);
    case NcclAlgorithm::kTree: return base + 2 * ((s.ranks_per_node - 1) * intra + levels * inter);
    case NcclAlgorithm::kNvls: return intra;
    case NcclAlgorithm::kNvlsTree: return base + intra + 2 * levels * inter;
  }
  throw InternalError("unknown algorithm");
}

}  // namespace

std::string_view nccl_name(NcclAlgorithm algorithm) {
  constexpr std::array<std::string_view, 4> kNames{"tree", "ring", "nvls", "nvlstree"};
  return kNames[at(algorithm)];
}

std::string_view nccl_name(NcclProtocol protocol) {
  constexpr std::array<std::string_view, 3> kNames{"LL", "LL128", "Simple"};
  return kNames[at(protocol)];
}

NcclSystem nccl_a100() {
  return {.arch = NcclArch::kAmpere, .channels = 12, .bandwidth_intra = 20, .bandwidth_inter = 20};
}

NcclSystem nccl_hopper(int nodes) {
  NcclSystem system{.nodes = nodes, .nvls_channels = 8, .nvls_intra = 40, .nvls_inter = 60};
  if (nodes == 1) return system;
  system.channels = 8;
  system.bandwidth_intra = 45;
  system.bandwidth_inter = 45;
  system.nvls_inter = 48;
  return system;
}

NcclSystem nccl_b200() {
  return {.arch = NcclArch::kBlackwell, .channels = 16, .bandwidth_intra = 45, .bandwidth_inter = 45, .nvls_channels = 8, .nvls_intra = 80, .nvls_inter = 90};
}

NcclSystem nccl_gb200_rack() {
  return {.arch = NcclArch::kBlackwell, .ranks_per_node = 72, .channels = 16, .bandwidth_intra = 45, .bandwidth_inter = 45, .nvls_channels = 32,
          .nvls_intra = 20, .nvls_inter = 40};
}

double nccl_microseconds(const NcclSystem& system, CollectiveKind kind, NcclAlgorithm algorithm, NcclProtocol protocol, double bytes) {
  const Case c{system, kind, algorithm, protocol};
  if (!applies(c)) return -1;
  double rate = bandwidth(c);
  if (rate <= 0) return -1;
  const double octave = std::floor(std::log2(std::max(1.0, bytes / 64)));
  const bool corrected = algorithm == NcclAlgorithm::kTree && bytes >= 64 && octave < 23;
  if (corrected) rate *= kTreeCorrection[at(protocol)][static_cast<std::size_t>(octave)];
  return latency(c, bytes) + bytes / (1000 * rate);
}

NcclPrediction nccl_choice(const NcclSystem& system, CollectiveKind kind, double bytes) {
  NcclPrediction best{.microseconds = -1};
  for (const NcclAlgorithm algorithm : {NcclAlgorithm::kTree, NcclAlgorithm::kRing, NcclAlgorithm::kNvls, NcclAlgorithm::kNvlsTree}) {
    for (const NcclProtocol protocol : {NcclProtocol::kLl, NcclProtocol::kLl128, NcclProtocol::kSimple}) {
      const double us = nccl_microseconds(system, kind, algorithm, protocol, bytes);
      if (us >= 0 && (best.microseconds < 0 || us < best.microseconds)) best = {algorithm, protocol, us};
    }
  }
  return best;
}

}  // namespace shardplan
