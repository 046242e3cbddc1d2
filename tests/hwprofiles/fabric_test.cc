#include "hwprofiles/fabric.h"

#include <vector>

#include "base/errors.h"
#include "hwprofiles/profile.h"
#include "tests/catch.h"

namespace shardplan {
namespace {

using Groups = std::vector<std::vector<int>>;

std::vector<int> range(int first, int count, int stride = 1) {
  std::vector<int> devices;
  for (int i = 0; i < count; ++i) devices.push_back(first + i * stride);
  return devices;
}

TEST_CASE("a group inside a node sees the scale-up bandwidth whatever the pattern") {
  const Fabric fabric(load_hardware("h200"), 16);
  const GroupLinks links = fabric.links(range(0, 8));
  CHECK(links.nodes == 1);
  CHECK(links.ranks_per_node == 8);
  CHECK(links.in_switch_reduction);
  CHECK(links.peer_access);
  CHECK(links.ring_bandwidth.value() == Approx(450e9));
  CHECK(links.all_to_all_bandwidth.value() == Approx(450e9));
  CHECK(links.hops == 2);
  CHECK(links.latency.value() == Approx(1e-6));
}

TEST_CASE("a ring over two full nodes runs as eight rings, one out of each NIC") {
  // Each NIC carries an eighth of a rank's traffic: 8 * 50 GB/s = 400 GB/s, below NVLink's 450.
  const Fabric fabric(load_hardware("h200"), 16);
  const GroupLinks links = fabric.links(range(0, 16));
  CHECK(links.nodes == 2);
  CHECK_FALSE(links.in_switch_reduction);
  CHECK(links.ring_bandwidth.value() == Approx(400e9));
  CHECK(links.inter_bandwidth.value() == Approx(50e9));
  CHECK(links.intra_bandwidth.value() == Approx(450e9));
}

TEST_CASE("a ring that alternates between nodes has one ring only and every hop on a NIC") {
  const Fabric fabric(load_hardware("h200"), 16);
  CHECK(fabric.links(std::vector<int>{0, 8, 1, 9}).ring_bandwidth.value() == Approx(50e9));
  CHECK(fabric.links(std::vector<int>{0, 1, 8, 9}).ring_bandwidth.value() == Approx(100e9));
}

TEST_CASE("all-to-all over two nodes is bounded by the NICs") {
  // 16 ranks: 8 of 15 parts leave the node, spread over its 8 NICs: 50 GB/s * 15/8 = 93.75 GB/s.
  const Fabric fabric(load_hardware("h200"), 16);
  CHECK(fabric.links(range(0, 16)).all_to_all_bandwidth.value() == Approx(50e9 * 15 / 8));
}

TEST_CASE("a group with one rank per node has one NIC per rank") {
  const Fabric fabric(load_hardware("h200"), 32);
  const GroupLinks links = fabric.links(range(0, 4, 8));
  CHECK(links.ranks_per_node == 1);
  CHECK(links.ring_bandwidth.value() == Approx(50e9));
}

TEST_CASE("groups inside nodes do not share; groups on one rail do not either; groups through one NIC do") {
  const Fabric fabric(load_hardware("h200"), 16);
  CHECK(fabric.links(range(0, 8), Groups{range(8, 8)}).ring_bandwidth.value() == Approx(450e9));
  // One rank per node, each pair on its own rail.
  CHECK(fabric.links(range(0, 2, 8), Groups{range(1, 2, 8)}).ring_bandwidth.value() == Approx(50e9));
  // Both pairs end at device 8's NIC: its link in is shared.
  CHECK(fabric.links(std::vector{0, 8}, Groups{{1, 8}}).ring_bandwidth.value() == Approx(25e9));
}

TEST_CASE("devices behind one NIC share it") {
  // L40S host: four devices behind each 25 GB/s NIC; every rank of a node-to-node exchange sends at once.
  const Fabric fabric(load_hardware("l40s"), 16);
  CHECK(fabric.links(range(0, 16)).inter_bandwidth.value() == Approx(25e9 / 4));
}

TEST_CASE("without a scale-up fabric a ring shares the PCIe switch's up-link") {
  // Devices 0..3 under one switch: all four send up through it, 32 GB/s / 4.
  const Fabric fabric(load_hardware("l40s"), 8);
  const GroupLinks links = fabric.links(range(0, 4));
  CHECK_FALSE(links.peer_access);
  CHECK(links.hops == 4);
  CHECK(links.ring_bandwidth.value() == Approx(8e9));
}

TEST_CASE("an oversubscribed spine slows what crosses it") {
  HardwareProfile profile = load_hardware("h200");
  profile.fabric.nodes_per_leaf = 1;
  const GroupLinks fair = Fabric(profile, 16).links(range(0, 16));
  profile.fabric.oversubscription = 4;
  const GroupLinks starved = Fabric(profile, 16).links(range(0, 16));
  CHECK(fair.inter_bandwidth.value() == Approx(50e9));
  CHECK(starved.inter_bandwidth.value() == Approx(12.5e9));
}

TEST_CASE("uneven groups are told from even ones") {
  const Fabric fabric(load_hardware("h200"), 16);
  CHECK(fabric.links(range(0, 16)).even);
  CHECK_FALSE(fabric.links(range(2, 10)).even);
  CHECK(fabric.links(range(2, 10)).ranks_per_node == 6);
}

TEST_CASE("a rack is one domain: 72 ranks see NVLink only") {
  const Fabric fabric(load_hardware("gb200"), 144);
  const GroupLinks rack = fabric.links(range(0, 72));
  CHECK(rack.nodes == 1);
  CHECK(rack.in_switch_reduction);
  CHECK(rack.all_to_all_bandwidth.value() == Approx(900e9));
  CHECK(fabric.links(range(0, 144)).nodes == 2);
}

TEST_CASE("a path is alone on its links") {
  const Fabric fabric(load_hardware("h200"), 16);
  CHECK(fabric.path(0, 1).ring_bandwidth.value() == Approx(450e9));
  CHECK(fabric.path(0, 8).ring_bandwidth.value() == Approx(50e9));
  CHECK(fabric.path(0, 8).latency > fabric.path(0, 1).latency);
}

TEST_CASE("a group of one crosses nothing") {
  const GroupLinks links = Fabric(load_hardware("h200"), 8).links(range(3, 1));
  CHECK(links.ranks == 1);
  CHECK(links.hops == 0);
}

TEST_CASE("a full mesh of n ranks uses n-1 links of each: two devices have a seventh of eight's bandwidth") {
  const Fabric fabric(load_hardware("mi300x"), 16);
  for (const int ranks : {2, 3, 4, 8}) {
    const GroupLinks links = fabric.links(range(0, ranks));
    CHECK(links.ring_bandwidth.value() == Approx(64e9 * (ranks - 1)));
    CHECK(links.intra_bandwidth.value() == Approx(64e9 * (ranks - 1)));
    CHECK(links.all_to_all_bandwidth.value() == Approx(64e9 * (ranks - 1)));
    CHECK(links.hops == 1);
    CHECK(links.peer_access);
  }
  CHECK(fabric.path(3, 5).ring_bandwidth.value() == Approx(64e9));
}

TEST_CASE("a ring over two meshes is bounded by the NICs, not by one pair's link") {
  // Eight rings: each NIC carries an eighth, 8 * 50 GB/s; inside, 7 hops of 8 rings over 56 links of 64 GB/s.
  const GroupLinks links = Fabric(load_hardware("mi300x"), 16).links(range(0, 16));
  CHECK(links.nodes == 2);
  CHECK(links.ring_bandwidth.value() == Approx(400e9));
  CHECK(links.inter_bandwidth.value() == Approx(50e9));
  CHECK(links.intra_bandwidth.value() == Approx(448e9));
}

TEST_CASE("bridge pairs see NVLink inside and the host's PCIe between them") {
  const Fabric fabric(load_hardware("h100-pcie-bridge"), 16);
  const GroupLinks pair = fabric.links(range(2, 2));
  CHECK(pair.nodes == 1);
  CHECK(pair.peer_access);
  CHECK(pair.ring_bandwidth.value() == Approx(300e9));
  const GroupLinks host = fabric.links(range(0, 8));
  CHECK(host.nodes == 4);
  CHECK(host.ring_bandwidth.value() == Approx(64e9));  // two rings through the two devices' shared up-link
  CHECK(fabric.path(1, 2).ring_bandwidth.value() == Approx(64e9));
  CHECK(fabric.links(std::vector{0, 2}).ring_bandwidth.value() == Approx(64e9));
}

TEST_CASE("on a rail-optimised fabric a flow keeps to its own NIC where the rail's device is in another island") {
  HardwareProfile profile = load_hardware("h100-pcie-bridge");
  profile.fabric.rail_optimised = true;
  profile.node.nics = 8;
  const Fabric fabric(profile, 16);
  CHECK(fabric.path(0, 9).hops == fabric.path(0, 8).hops + 2);   // over the bridge to the rail's NIC
  CHECK(fabric.path(0, 14).hops == fabric.path(0, 8).hops + 2);  // over the spine
}

TEST_CASE("a mesh too large to be real is refused") {
  HardwareProfile profile = load_hardware("mi300x");
  profile.node.devices = profile.node.domain = profile.node.nics = 1000;
  CHECK_THROWS_AS(Fabric(profile, 1000), InputError);
}

TEST_CASE("an impossible cluster is refused") {
  CHECK_THROWS_AS(Fabric(load_hardware("h200"), 0), InputError);
  CHECK_THROWS_AS(Fabric(load_hardware("h200"), std::int64_t{1} << 40), InputError);
}

}  // namespace
}  // namespace shardplan
