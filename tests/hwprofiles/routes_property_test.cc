// Routing by table look-ups against Dijkstra over the same graph.
#include <rapidcheck.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

#include "hwprofiles/fabric.h"
#include "hwprofiles/fabric_graph.h"
#include "hwprofiles/profile.h"
#include "tests/catch.h"

namespace shardplan {
namespace {

HardwareProfile any_machine() {
  HardwareProfile profile =
      load_hardware(*rc::gen::element<std::string>("h200", "l40s", "gb200", "a100", "mi300x", "h100-nvl", "h200-nvl"));
  profile.node.nic_direct = *rc::gen::arbitrary<bool>();
  profile.fabric.rail_optimised = *rc::gen::arbitrary<bool>();
  profile.fabric.nodes_per_leaf = *rc::gen::inRange(1, 5);
  return profile;
}

Seconds latency_of(const FabricGraph& graph, std::span<const LinkId> links) {
  Seconds total;
  for (const LinkId link : links) total += graph.links()[link].latency;
  return total;
}

TEST_CASE("a route is an unbroken chain of links from its first device to its last") {
  CHECK(rc::check("chain", [] {
    const int devices = *rc::gen::inRange(2, 160);
    const FabricGraph graph(any_machine(), devices);
    const int from = *rc::gen::inRange(0, devices);
    const int to = (from + *rc::gen::inRange(1, devices)) % devices;
    int at = from;  // devices are the first vertices
    for (const LinkId link : graph.route(from, to)) {
      RC_ASSERT(graph.links()[link].from == at);
      at = graph.links()[link].to;
    }
    RC_ASSERT(at == to);
  }));
}

TEST_CASE("no route is shorter than the shortest, and without carriers each is as short") {
  CHECK(rc::check("shortest", [] {
    const int devices = *rc::gen::inRange(2, 100);
    const HardwareProfile profile = any_machine();
    const FabricGraph graph(profile, devices);
    const int from = *rc::gen::inRange(0, devices);
    const int to = (from + *rc::gen::inRange(1, devices)) % devices;
    const Route route = graph.route(from, to);
    const double taken = latency_of(graph, {route.begin(), route.end()}).value();
    const double least = latency_of(graph, graph.shortest_route(from, to)).value();
    RC_ASSERT(taken >= least - 1e-12);
    // Between rails a carrier spends a crossing of the domain switch to stay off the spine; where there is none, the
    // flow keeps to its own NIC and passes the spine, though a NIC of the right rail may be as near.
    const FabricSpec& fabric = profile.fabric;
    const Seconds over_spine = fabric.leaf_latency + fabric.spine_latency;
    const Seconds detour = std::max(profile.node.scale_up.latency, over_spine);
    RC_ASSERT(taken <= least + (fabric.rail_optimised ? detour.value() : 0) + 1e-12);
  }));
}

TEST_CASE("another group at work never adds bandwidth, and one that shares nothing takes none") {
  CHECK(rc::check("contention", [] {
    const HardwareProfile profile = any_machine();
    const int devices = std::max(4 * profile.node.domain, 16);
    const Fabric fabric(profile, devices);
    std::vector<int> shuffled(static_cast<std::size_t>(devices));
    std::iota(shuffled.begin(), shuffled.end(), 0);
    std::shuffle(shuffled.begin(), shuffled.end(), std::mt19937(*rc::gen::arbitrary<std::uint32_t>()));
    const std::vector<int> group(shuffled.begin(), shuffled.begin() + 4);
    const std::vector<std::vector<int>> others{{shuffled.begin() + 4, shuffled.begin() + 8},
                                               {shuffled.begin() + 8, shuffled.begin() + 12}};
    const GroupLinks alone = fabric.links(group);
    const GroupLinks shared = fabric.links(group, others);
    RC_ASSERT(shared.ring_bandwidth <= alone.ring_bandwidth);
    RC_ASSERT(shared.all_to_all_bandwidth <= alone.all_to_all_bandwidth);
    RC_ASSERT(shared.inter_bandwidth <= alone.inter_bandwidth);
    RC_ASSERT(shared.latency == alone.latency);
    RC_ASSERT(fabric.links(group, std::vector<std::vector<int>>{{shuffled[4]}}).ring_bandwidth == alone.ring_bandwidth);
  }));
}

}  // namespace
}  // namespace shardplan
