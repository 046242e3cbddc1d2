// The fabric as a graph (Boost.Graph inside): devices, switches, PCIe, NICs, leaves and spines.
//
// A group's bandwidth, hops and contention come from the links its traffic crosses under a rank
// order: for a ring, one flow from each rank to its successor (over several nodes as many rings
// as the shortest run of ranks inside a node, so that every NIC has its part: see traffic.h); for
// all-to-all, one flow per ordered pair. With load(l) the part of a rank's traffic on link l,
//   bandwidth of a pattern [B/s per rank] = min over the links crossed of bandwidth(l) / load(l).
// Wrong where traffic of several groups overlaps only in part of the time, and where a spine is
// not ideally balanced.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/quantity.h"
#include "hwprofiles/profile.h"

namespace shardplan {

// What a group of ranks on concrete devices sees.
struct GroupLinks {
  int ranks = 1;
  int nodes = 1;                        // fast domains touched
  int ranks_per_node = 1;               // largest number of the group's ranks in one domain
  bool even = true;                     // every touched domain holds as many
  BytesPerSecond intra_bandwidth;       // per rank and direction inside a domain
  BytesPerSecond ring_bandwidth;        // per rank: what a ring over the group in rank order sustains
  BytesPerSecond all_to_all_bandwidth;  // per rank: total outgoing bytes / time when all exchange evenly
  BytesPerSecond inter_bandwidth;       // per rank of the group across domains when all of them send at once
  Seconds latency;                      // of one message over the longest path of the group
  int hops = 0;                         // links on that path
  bool peer_access = true;           // devices of a domain reach each other over a scale-up fabric, not through hosts
  bool in_switch_reduction = false;  // the whole group is inside one domain that reduces in its switch
};

class Fabric {
 public:
  // A cluster of `devices` GPUs in nodes as the profile describes (the last node may be part-filled).
  Fabric(const HardwareProfile& profile, std::int64_t devices);
  ~Fabric();
  Fabric(Fabric&&) noexcept;
  Fabric& operator=(Fabric&&) noexcept;

  [[nodiscard]] std::int64_t devices() const;
  // Links between the devices of one group, listed in rank order. `concurrent_groups` are the
  // other groups of the same kind at work at the same time (they share NICs and up-links);
  // each is a list of devices. Precondition: distinct devices within the cluster.
  [[nodiscard]] GroupLinks links(std::span<const int> group,
                                 std::span<const std::vector<int>> concurrent_groups = {}) const;
  // One point-to-point flow from one device to another, alone on its path.
  [[nodiscard]] GroupLinks path(int from, int to) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace shardplan
