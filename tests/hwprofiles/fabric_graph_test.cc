#include "hwprofiles/fabric_graph.h"

#include "hwprofiles/profile.h"
#include "tests/catch.h"

namespace shardplan {
namespace {

TEST_CASE("inside a domain a route is device, switch, device") {
  const FabricGraph graph(load_hardware("h200"), 16);
  CHECK(graph.route(0, 7).size() == 2);
}

TEST_CASE("across nodes on one rail a route passes PCIe, NIC and one leaf") {
  // device - PCIe switch - NIC - leaf - NIC - PCIe switch - device: 6 links
  const FabricGraph graph(load_hardware("h200"), 16);
  CHECK(graph.route(0, 8).size() == 6);
}

TEST_CASE("to another rail the flow first crosses the domain switch and stays under one leaf") {
  const FabricGraph graph(load_hardware("h200"), 16);
  CHECK(graph.route(0, 9).size() == 2 + 6);
}

TEST_CASE("without rails a flow to another leaf passes the spine") {
  HardwareProfile profile = load_hardware("h200");
  profile.fabric.rail_optimised = false;
  profile.fabric.nodes_per_leaf = 1;
  const FabricGraph graph(profile, 16);
  CHECK(graph.route(0, 9).size() == 6 + 2);
}

TEST_CASE("without GPUDirect the host adds two PCIe hops on each side") {
  HardwareProfile profile = load_hardware("h200");
  const FabricGraph direct(profile, 16);
  profile.node.nic_direct = false;
  const FabricGraph staged(profile, 16);
  CHECK(staged.route(0, 8).size() == direct.route(0, 8).size() + 4);
}

TEST_CASE("without a scale-up fabric devices reach each other through the host") {
  // device - PCIe switch - host - PCIe switch - device
  const FabricGraph graph(load_hardware("l40s"), 8);
  CHECK(graph.route(0, 1).size() == 4);
  CHECK(graph.route(0, 7).size() == 4);
}

TEST_CASE("a rack of eighteen trays is one domain, and two racks are joined by NICs") {
  const FabricGraph graph(load_hardware("gb200"), 144);
  CHECK(graph.route(0, 71).size() == 2);
  CHECK(graph.domain_of(71) == 0);
  CHECK(graph.domain_of(72) == 1);
  CHECK(graph.route(0, 72).size() == 6);
}

TEST_CASE("a part-filled last node lends no carrier: the flow goes over the spine") {
  // Device 8 is alone on node 1; its flow to rail 3 of node 0 finds no device 11 beside it.
  const FabricGraph graph(load_hardware("h200"), 9);
  CHECK(graph.route(8, 3).size() == 6 + 2);
  CHECK(graph.route(3, 8).size() == 2 + 6);
}

}  // namespace
}  // namespace shardplan
