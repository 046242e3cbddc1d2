// What evidence speaks for what fault: one function and one row each.
#include <fmt/format.h>

#include <algorithm>

#include "calibrate/doctor/diagnose.h"

namespace shardplan {
namespace {

int count_of(const NcclLog& log, const std::string& transport) {
  const auto it = log.transports.find(transport);
  return it == log.transports.end() ? 0 : it->second;
}

int pairs_with(const Topology& topology, bool nvlink) {
  int pairs = 0;
  for (std::size_t i = 0; i < topology.gpus.size(); ++i) {
    for (std::size_t j = i + 1; j < topology.gpus.size(); ++j) pairs += topology.has_nvlink(topology.gpus[i], topology.gpus[j]) == nvlink ? 1 : 0;
  }
  return pairs;
}

bool expects_nvlink(const Evidence& e) { return e.hardware != nullptr && e.hardware->node.scale_up.kind != "pcie" && e.hardware->node.domain > 2; }

std::string nvlink_missing(const Evidence& e) {
  if (!e.topology || e.topology->gpus.size() < 2) return "";
  const int without = pairs_with(*e.topology, false);
  const int with = pairs_with(*e.topology, true);
  if (without == 0) return "";
  if (with == 0 && !expects_nvlink(e)) return "";
  return fmt::format("{} of {} pairs of GPUs have no NVLink between them", without, without + with);
}

std::string uneven_nvlink(const Evidence& e) {
  if (!e.topology) return "";
  std::string least, most;
  int low = 1 << 20;
  int high = 0;
  for (const auto& [pair, link] : e.topology->links) {
    if (!link.starts_with("NV") || !pair.second.starts_with("GPU")) continue;
    const int lanes = std::atoi(link.c_str() + 2);
    if (lanes < low) low = lanes, least = pair.first + "-" + pair.second;
    if (lanes > high) high = lanes, most = pair.first + "-" + pair.second;
  }
  return high > low ? fmt::format("{} has {} NVLinks, {} has {}", least, low, most, high) : "";
}

std::string across_sockets(const Evidence& e) {
  if (!e.topology || pairs_with(*e.topology, true) > 0) return "";
  int pairs = 0;
  for (const auto& [pair, link] : e.topology->links) pairs += link == "SYS" && pair.first < pair.second && pair.second.starts_with("GPU") ? 1 : 0;
  return pairs > 0 ? fmt::format("{} pairs of GPUs meet only between sockets (SYS)", pairs) : "";
}

// The nearest NIC of each GPU is behind a socket link.
std::string far_nic(const Evidence& e) {
  if (!e.topology || e.topology->nics.empty()) return "";
  std::string far;
  for (const std::string& gpu : e.topology->gpus) {
    const bool near = std::any_of(e.topology->nics.begin(), e.topology->nics.end(), [&](const std::string& nic) {
      const std::string link = e.topology->link(gpu, nic);
      return link == "PIX" || link == "PXB" || link == "PHB" || link == "NODE";
    });
    if (!near) far += (far.empty() ? "" : ", ") + gpu;
  }
  return far.empty() ? "" : far + " has no NIC on its NUMA node (SYS to all of them)";
}

std::string nic_numa(const Evidence& e) {
  if (!e.sysfs || !e.topology) return "";
  for (const auto& [path, node] : e.sysfs->values) {
    if (path.find("infiniband") == std::string::npos || !path.ends_with("numa_node")) continue;
    const bool used = std::any_of(e.topology->numa.begin(), e.topology->numa.end(), [&](const auto& gpu) { return gpu.second == node; });
    if (node == "-1") return path + " is -1: the firmware tells no NUMA node";
    if (!used) return fmt::format("{} is {}, where no GPU is", path, node);
  }
  return "";
}

std::string no_peer_memory(const Evidence& e) {
  if (!e.sysfs) return "";
  bool adapters = false;
  bool module = false;
  for (const auto& [path, value] : e.sysfs->values) {
    adapters = adapters || path.find("infiniband") != std::string::npos;
    module = module || path.find("nvidia_peermem") != std::string::npos || path.find("nv_peer_mem") != std::string::npos;
  }
  return adapters && !module ? "there are adapters, and neither nvidia_peermem nor nv_peer_mem among the modules" : "";
}

std::string p2p_off(const Evidence& e) {
  if (!e.log) return "";
  if (!e.log->p2p_disabled.empty()) return e.log->p2p_disabled.front();
  const int shared = count_of(*e.log, "SHM");
  if (shared == 0 || count_of(*e.log, "P2P") > 0) return "";
  return fmt::format("{} channels go through host memory (SHM), none through P2P", shared);
}

std::string nvlink_unused(const Evidence& e) {
  if (!e.topology || !e.log || pairs_with(*e.topology, true) == 0) return "";
  return count_of(*e.log, "SHM") > 0 ? fmt::format("GPUs are joined by NVLink, yet {} channels go through host memory", count_of(*e.log, "SHM")) : "";
}

std::string socket_fall_back(const Evidence& e) {
  if (!e.log) return "";
  const int sockets = count_of(*e.log, "NET/Socket");
  if (sockets == 0 && !(e.log->uses_socket && e.log->hosts.size() > 1)) return "";
  return fmt::format("{} channels between nodes are TCP sockets{}", sockets, e.log->no_infiniband ? "; NET/IB found no device" : "");
}

std::string no_gpu_direct(const Evidence& e) {
  if (!e.log || count_of(*e.log, "NET/IB") == 0 || e.log->direct_network_channels > 0) return "";
  return fmt::format("{} channels over InfiniBand, none with GDRDMA", count_of(*e.log, "NET/IB"));
}

std::string partly_direct(const Evidence& e) {
  if (!e.log || e.log->direct_network_channels == 0) return "";
  const int all = count_of(*e.log, "NET/IB");
  return all > e.log->direct_network_channels ? fmt::format("{} of {} channels over InfiniBand are without GDRDMA", all - e.log->direct_network_channels, all) : "";
}

std::string nccl_warns(const Evidence& e) { return e.log && !e.log->warnings.empty() ? e.log->warnings.front() : ""; }

// Bus bandwidth of the largest all-reduce against the profile's.
std::string slow_collective(const Evidence& e) {
  if (e.hardware == nullptr) return "";
  const Record* largest = nullptr;
  for (const Record& r : e.collectives) {
    if (r.kind == "all_reduce" && (largest == nullptr || r.field("message_bytes") > largest->field("message_bytes"))) largest = &r;
  }
  if (largest == nullptr || largest->field("message_bytes") < 64 << 20) return "";
  const auto ranks = static_cast<double>(largest->field("group"));
  const double bus = 2 * (ranks - 1) / ranks * static_cast<double>(largest->field("message_bytes")) / largest->microseconds * 1e6;
  const bool inside = ranks <= e.hardware->node.domain;
  const double link = inside ? e.hardware->node.scale_up.bandwidth.value() : e.hardware->node.nic.bandwidth.value() * e.hardware->node.nics;
  if (bus > 0.5 * link) return "";
  return fmt::format("an all-reduce of {} MiB over {} ranks moves {:.0f} GB/s; the link gives {:.0f}", largest->field("message_bytes") >> 20, ranks, bus * 1e-9, link * 1e-9);
}

std::string slow_rank(const Evidence& e) {
  std::map<std::int64_t, std::vector<double>> by_rank;
  for (const Record& r : e.collectives) {
    if (std::any_of(r.shape.begin(), r.shape.end(), [](const auto& field) { return field.first == "rank"; })) by_rank[r.field("rank")].push_back(r.microseconds);
  }
  if (by_rank.size() < 3) return "";
  std::vector<std::pair<double, std::int64_t>> medians;
  for (auto& [rank, times] : by_rank) {
    std::nth_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2), times.end());
    medians.emplace_back(times[times.size() / 2], rank);
  }
  std::sort(medians.begin(), medians.end());
  const double middle = medians[medians.size() / 2].first;
  if (medians.back().first < 1.2 * middle) return "";
  return fmt::format("rank {} takes {:.0f} us where the others take {:.0f}", medians.back().second, medians.back().first, middle);
}

std::string small_messages(const Evidence& e) {
  double most = 0;
  for (const Record& r : e.collectives) {
    if (r.field("message_bytes") > 0 && r.field("message_bytes") <= 64 << 10) most = std::max(most, r.microseconds);
  }
  return most > 50 ? fmt::format("a message of 64 KiB or less takes {:.0f} us", most) : "";
}

}  // namespace

const std::vector<DoctorRule>& doctor_rules() {
  using enum FindingKind;
  static const std::vector<DoctorRule> kRules{
      {"nvlink_missing", kProblem, 1, "GPUs that should be joined by NVLink are not", "nvidia-smi nvlink --status; systemctl status nvidia-fabricmanager", nvlink_missing},
      {"nvlink_uneven", kProblem, 1, "some NVLinks are down", "nvidia-smi nvlink --status; nvidia-smi nvlink -e", uneven_nvlink},
      {"across_sockets", kWarning, 1, "GPUs of one group are on two sockets", "nvidia-smi topo -m; place a group's ranks on one socket", across_sockets},
      {"nic_far", kProblem, 1, "a NIC is on the wrong NUMA node", "nvidia-smi topo -m; lspci -tv; numactl --hardware", far_nic},
      {"nic_numa", kWarning, 1, "a NIC's NUMA node has no GPU", "cat /sys/class/infiniband/*/device/numa_node", nic_numa},
      {"peer_memory_missing", kProblem, 1, "GPUDirect RDMA has no module", "modprobe nvidia_peermem; lsmod | grep peer", no_peer_memory},
      {"p2p_off", kProblem, 2, "P2P is off", "nvidia-smi topo -p2p r; env | grep NCCL_P2P; look at IOMMU and ACS", p2p_off},
      {"nvlink_unused", kProblem, 2, "NVLink is there and not in use", "env | grep NCCL_P2P; run all ranks in one container or with --ipc=host", nvlink_unused},
      {"socket_fall_back", kProblem, 2, "the network fell back to sockets", "ibstat; env | grep NCCL_IB; NCCL_DEBUG_SUBSYS=INIT,NET", socket_fall_back},
      {"gpu_direct_missing", kProblem, 2, "GPUDirect RDMA is not in use", "lsmod | grep peer; env | grep NCCL_NET_GDR_LEVEL; nvidia-smi topo -m", no_gpu_direct},
      {"gpu_direct_partly", kWarning, 2, "some GPUs have no GPUDirect RDMA", "nvidia-smi topo -m: GPUs that are SYS to their NIC", partly_direct},
      {"nccl_warning", kWarning, 2, "NCCL warns", "the line and what stands before it", nccl_warns},
      {"collective_slow", kProblem, 3, "the collective itself is slow", "all_reduce_perf -b 64M -e 1G -f 2 -g 8; then steps 1 and 2", slow_collective},
      {"slow_rank", kProblem, 3, "one rank holds up the others", "nvidia-smi -q -d PERFORMANCE,TEMPERATURE on its node; dmesg | grep Xid", slow_rank},
      {"small_messages_slow", kWarning, 4, "small messages cost a launch each", "capture the step in a CUDA graph; custom all-reduce; fewer calls", small_messages},
  };
  return kRules;
}

}  // namespace shardplan
