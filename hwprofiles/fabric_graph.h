// The directed graph of links behind Fabric, and the route between two devices.
//
//   device - domain switch - device                                     inside a fast domain
//   device - device                                                     inside one that is a full mesh
//   device - PCIe switch - host - PCIe switch - device                  inside a host, between domains or without one
//   device - PCIe switch - NIC - leaf - [spine - leaf] - NIC - PCIe switch - device   across
//     (without GPUDirect the data rests in the host on both sides: two more PCIe hops each)
//
// Routing is up-and-down, as the real fabrics route: climb to the first switch that both ends are under. In a
// rail-optimised fabric a flow to another rail first crosses the fast domain to the device beside the
// destination's NIC (NCCL's PXN), where the domain has one, and so stays under one leaf. Each end's climb is a few
// table look-ups; shortest_route() finds the same by Dijkstra and serves as the reference.
// Wrong where the spine is not a full fat tree: each leaf's up-links are one trunk, ideally balanced.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/quantity.h"
#include "hwprofiles/profile.h"

namespace shardplan {

using LinkId = std::int32_t;
inline constexpr LinkId kNoLink = -1;

// One direction of one link.
struct Link {
  int from = 0;  // vertices
  int to = 0;
  BytesPerSecond bandwidth;
  Seconds latency;
};

// The links of one path in order; at most 2 + 4 + 1 + 2 + 1 + 4.
class Route {
 public:
  void add(LinkId link) { links_[size_++] = link; }
  [[nodiscard]] const LinkId* begin() const { return links_.data(); }
  [[nodiscard]] const LinkId* end() const { return links_.data() + size_; }
  [[nodiscard]] int size() const { return static_cast<int>(size_); }

 private:
  std::array<LinkId, 16> links_{};
  std::size_t size_ = 0;
};

class FabricGraph {
 public:
  FabricGraph(const HardwareProfile& profile, int devices);
  ~FabricGraph();
  FabricGraph(const FabricGraph&) = delete;
  FabricGraph& operator=(const FabricGraph&) = delete;

  [[nodiscard]] int devices() const { return static_cast<int>(ports_.size()); }
  [[nodiscard]] int domain_of(int device) const { return device / domain_size_; }
  [[nodiscard]] std::span<const Link> links() const { return links_; }

  // Whether a link joins a leaf and the spine: the only links that devices of different domains share.
  [[nodiscard]] bool on_spine(LinkId link) const { return link >= spine_begin_ && link < spine_end_; }

  // Precondition: two distinct devices.
  [[nodiscard]] Route route(int from, int to) const;
  // Least latency by Dijkstra (ties: fewer links); slow.
  [[nodiscard]] std::vector<LinkId> shortest_route(int from, int to) const;

 private:
  struct Graph;  // the Boost graph
  // Links of a device. `nic` indexes nics_.
  struct DevicePorts {
    LinkId to_switch = kNoLink, from_switch = kNoLink;
    LinkId to_peers = kNoLink;  // in a mesh: the first of the links to the domain's others, in order
    LinkId to_pcie = kNoLink, from_pcie = kNoLink;
    int host = 0, nic = 0;
  };
  // Links of a NIC and of the PCIe switch it hangs from.
  struct NicPorts {
    LinkId to_host = kNoLink, from_host = kNoLink;  // the switch's up-link
    LinkId out_of_pcie = kNoLink, into_pcie = kNoLink;
    LinkId to_leaf = kNoLink, from_leaf = kNoLink;
    int leaf = 0;
  };
  struct LeafPorts {
    LinkId to_spine = kNoLink, from_spine = kNoLink;
  };

  int add_vertex();
  LinkId add_link(int from, int to, BytesPerSecond bandwidth, Seconds latency);
  void build_domain_switches(const LinkSpec& scale_up, std::span<const int> device_vertices);
  void build_meshes(const LinkSpec& scale_up, std::span<const int> device_vertices);
  void build_host(int host, const HardwareProfile& profile, std::span<const int> device_vertices);
  void build_leaves(const HardwareProfile& profile, int hosts);
  [[nodiscard]] int carrier(int from, int to) const;
  void cross_domain(Route& route, int from, int to) const;
  void climb(Route& route, int device) const;
  void descend(Route& route, int device) const;

  std::unique_ptr<Graph> graph_;
  std::vector<Link> links_;
  std::vector<DevicePorts> ports_;
  std::vector<NicPorts> nics_;
  std::vector<LeafPorts> leaves_;
  std::vector<int> nic_vertices_;
  LinkId spine_begin_ = 0, spine_end_ = 0;
  int domain_size_ = 1;
  int host_size_ = 1;
  int nics_per_host_ = 1;
  bool nic_direct_ = true;
  bool rail_optimised_ = true;
  bool has_scale_up_ = true;
  bool mesh_ = false;
};

}  // namespace shardplan
