#include "hwprofiles/fabric_graph.h"

#include <algorithm>
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/dijkstra_shortest_paths.hpp>

#include "base/errors.h"

namespace shardplan {

// Edge weights are the latency in nanoseconds plus one picosecond per link, so that ties go to fewer links.
struct FabricGraph::Graph {
  using Properties = boost::property<boost::edge_weight_t, double, boost::property<boost::edge_index_t, LinkId>>;
  using Adjacency = boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS, boost::no_property, Properties>;
  Adjacency adjacency;
};

FabricGraph::FabricGraph(const HardwareProfile& profile, int devices)
    : graph_(std::make_unique<Graph>()),
      ports_(static_cast<std::size_t>(devices)),
      domain_size_(profile.node.domain),
      host_size_(profile.node.devices),
      nics_per_host_(profile.node.nics),
      nic_direct_(profile.node.nic_direct),
      rail_optimised_(profile.fabric.rail_optimised),
      has_scale_up_(profile.node.scale_up.kind != "pcie"),
      mesh_(profile.node.mesh) {
  std::vector<int> device_vertices;
  for (int device = 0; device < devices; ++device) device_vertices.push_back(add_vertex());
  if (mesh_) {
    build_meshes(profile.node.scale_up, device_vertices);
  } else if (has_scale_up_) {
    build_domain_switches(profile.node.scale_up, device_vertices);
  }
  const int hosts = static_cast<int>(ceil_div(devices, host_size_));
  for (int host = 0; host < hosts; ++host) build_host(host, profile, device_vertices);
  build_leaves(profile, hosts);
}

FabricGraph::~FabricGraph() = default;

int FabricGraph::add_vertex() { return static_cast<int>(boost::add_vertex(graph_->adjacency)); }

LinkId FabricGraph::add_link(int from, int to, BytesPerSecond bandwidth, Seconds latency) {
  const auto id = static_cast<LinkId>(links_.size());
  links_.push_back({from, to, bandwidth, latency});
  boost::add_edge(static_cast<std::size_t>(from), static_cast<std::size_t>(to), {latency.value() * 1e9 + 1e-3, id},
                  graph_->adjacency);
  return id;
}

void FabricGraph::build_domain_switches(const LinkSpec& scale_up, std::span<const int> device_vertices) {
  int domain_switch = -1;
  for (int device = 0; device < devices(); ++device) {
    if (device % domain_size_ == 0) domain_switch = add_vertex();
    // The profile's latency is device to device; the switch sits in the middle.
    const Seconds half = scale_up.latency / 2;
    ports_[device].to_switch = add_link(device_vertices[device], domain_switch, scale_up.bandwidth, half);
    ports_[device].from_switch = add_link(domain_switch, device_vertices[device], scale_up.bandwidth, half);
  }
}

void FabricGraph::build_meshes(const LinkSpec& scale_up, std::span<const int> device_vertices) {
  for (int device = 0; device < devices(); ++device) {
    ports_[device].to_peers = static_cast<LinkId>(links_.size());
    const int first = domain_of(device) * domain_size_;
    for (int peer = first; peer < std::min(first + domain_size_, devices()); ++peer) {
      if (peer == device) continue;
      (void)add_link(device_vertices[device], device_vertices[peer], scale_up.bandwidth, scale_up.latency);
    }
  }
}

// One PCIe switch per NIC with the devices shared out evenly. Its two directions are two vertices, `up` and `down`,
// so that nothing turns around inside it: traffic between devices passes the host, and the NIC is reached from `up`
// only with GPUDirect.
void FabricGraph::build_host(int host, const HardwareProfile& profile, std::span<const int> device_vertices) {
  const LinkSpec& pcie = profile.node.pcie;
  const auto wire = [&](int from, int to) { return add_link(from, to, pcie.bandwidth, pcie.latency); };
  const int host_vertex = add_vertex();
  const int devices_per_nic = host_size_ / nics_per_host_;
  for (int slot = 0; slot < nics_per_host_; ++slot) {
    const int up = add_vertex(), down = add_vertex(), nic = add_vertex();
    NicPorts ports;
    ports.to_host = wire(up, host_vertex);
    ports.from_host = wire(host_vertex, down);
    ports.out_of_pcie = wire(nic_direct_ ? up : down, nic);
    ports.into_pcie = wire(nic, nic_direct_ ? down : up);
    const int first = host * host_size_ + slot * devices_per_nic;
    for (int device = first; device < std::min(first + devices_per_nic, devices()); ++device) {
      ports_[device].to_pcie = wire(device_vertices[device], up);
      ports_[device].from_pcie = wire(down, device_vertices[device]);
      ports_[device].host = host;
      ports_[device].nic = host * nics_per_host_ + slot;
    }
    nics_.push_back(ports);
    nic_vertices_.push_back(nic);
  }
}

// Rail-optimised: one leaf per NIC slot and group of hosts; otherwise one per group. One spine joins them.
void FabricGraph::build_leaves(const HardwareProfile& profile, int hosts) {
  const FabricSpec& fabric = profile.fabric;
  const LinkSpec& nic = profile.node.nic;
  const int rails = rail_optimised_ ? nics_per_host_ : 1;
  const int groups = static_cast<int>(ceil_div(hosts, fabric.nodes_per_leaf));
  const int spine = add_vertex();
  const int ports_per_leaf = fabric.nodes_per_leaf * nics_per_host_ / rails;
  const BytesPerSecond trunk = nic.bandwidth * (ports_per_leaf / fabric.oversubscription);
  std::vector<int> leaf_vertices;
  spine_begin_ = static_cast<LinkId>(links_.size());
  for (int leaf = 0; leaf < groups * rails; ++leaf) {
    leaf_vertices.push_back(add_vertex());
    leaves_.push_back({add_link(leaf_vertices.back(), spine, trunk, fabric.leaf_latency),
                       add_link(spine, leaf_vertices.back(), trunk, fabric.spine_latency)});
  }
  spine_end_ = static_cast<LinkId>(links_.size());
  for (std::size_t i = 0; i < nics_.size(); ++i) {
    const int host = static_cast<int>(i) / nics_per_host_;
    const int rail = rail_optimised_ ? static_cast<int>(i) % nics_per_host_ : 0;
    nics_[i].leaf = host / fabric.nodes_per_leaf * rails + rail;
    const int leaf_vertex = leaf_vertices[nics_[i].leaf];
    nics_[i].to_leaf = add_link(nic_vertices_[i], leaf_vertex, nic.bandwidth, nic.latency);
    nics_[i].from_leaf = add_link(leaf_vertex, nic_vertices_[i], nic.bandwidth, fabric.leaf_latency);
  }
}

// Both ends are in one fast domain.
void FabricGraph::cross_domain(Route& route, int from, int to) const {
  if (mesh_) {
    const int place = to - domain_of(to) * domain_size_;
    route.add(ports_[from].to_peers + (to < from ? place : place - 1));
    return;
  }
  route.add(ports_[from].to_switch);
  route.add(ports_[to].from_switch);
}

// The device of `from`'s host and domain beside the NIC on `to`'s rail: where a flow leaves for the network.
int FabricGraph::carrier(int from, int to) const {
  if (!rail_optimised_ || !has_scale_up_) return from;
  const int rail = ports_[to].nic % nics_per_host_;
  if (ports_[from].nic % nics_per_host_ == rail) return from;
  const int devices_per_nic = host_size_ / nics_per_host_;
  const int peer = ports_[from].host * host_size_ + rail * devices_per_nic + from % devices_per_nic;
  return peer < devices() && domain_of(peer) == domain_of(from) ? peer : from;
}

void FabricGraph::climb(Route& route, int device) const {
  const NicPorts& nic = nics_[ports_[device].nic];
  route.add(ports_[device].to_pcie);
  if (!nic_direct_) {
    route.add(nic.to_host);
    route.add(nic.from_host);
  }
  route.add(nic.out_of_pcie);
  route.add(nic.to_leaf);
}

void FabricGraph::descend(Route& route, int device) const {
  const NicPorts& nic = nics_[ports_[device].nic];
  route.add(nic.from_leaf);
  route.add(nic.into_pcie);
  if (!nic_direct_) {
    route.add(nic.to_host);
    route.add(nic.from_host);
  }
  route.add(ports_[device].from_pcie);
}

Route FabricGraph::route(int from, int to) const {
  Route route;
  if (has_scale_up_ && domain_of(from) == domain_of(to)) {
    cross_domain(route, from, to);
    return route;
  }
  if (ports_[from].host == ports_[to].host) {
    route.add(ports_[from].to_pcie);
    route.add(nics_[ports_[from].nic].to_host);
    route.add(nics_[ports_[to].nic].from_host);
    route.add(ports_[to].from_pcie);
    return route;
  }
  const int leaver = carrier(from, to);
  if (leaver != from) cross_domain(route, from, leaver);
  climb(route, leaver);
  const int leaf = nics_[ports_[leaver].nic].leaf;
  const int last_leaf = nics_[ports_[to].nic].leaf;
  if (leaf != last_leaf) {
    route.add(leaves_[leaf].to_spine);
    route.add(leaves_[last_leaf].from_spine);
  }
  descend(route, to);
  return route;
}

std::vector<LinkId> FabricGraph::shortest_route(int from, int to) const {
  const Graph::Adjacency& graph = graph_->adjacency;
  const auto source = static_cast<std::size_t>(from);
  std::vector<std::size_t> parent(boost::num_vertices(graph));
  const auto parents = boost::make_iterator_property_map(parent.begin(), boost::get(boost::vertex_index, graph));
  boost::dijkstra_shortest_paths(graph, source, boost::predecessor_map(parents));
  std::vector<LinkId> links;
  for (auto vertex = static_cast<std::size_t>(to); vertex != source; vertex = parent[vertex]) {
    const auto [edge, found] = boost::edge(parent[vertex], vertex, graph);
    ensure(found, "the fabric is not connected");
    links.push_back(boost::get(boost::edge_index, graph, edge));
  }
  std::reverse(links.begin(), links.end());
  return links;
}

}  // namespace shardplan
