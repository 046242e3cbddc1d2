#include "hwprofiles/fabric.h"

#include <algorithm>
#include <array>
#include <limits>
#include <string>

#include "base/errors.h"
#include "hwprofiles/fabric_graph.h"
#include "hwprofiles/traffic.h"

namespace shardplan {
namespace {

constexpr std::int64_t kMaxDevices = 1 << 20;

// How much of a rank's traffic each link carries, and what the most loaded of the group's own links leaves.
class LinkLoads {
 public:
  explicit LinkLoads(const FabricGraph& graph) : graph_(graph), load_(graph.links().size()) {}

  void add(int from, int to, double share) {
    for (const LinkId link : graph_.route(from, to)) {
      if (load_[link] == 0) touched_.push_back(link);
      load_[link] += share;
    }
  }
  // What is added from here on only contends.
  void own_flows_end() { own_ = touched_.size(); }
  [[nodiscard]] bool own_on_spine() const {
    return std::any_of(touched_.begin(), touched_.begin() + static_cast<std::ptrdiff_t>(own_),
                       [this](LinkId link) { return graph_.on_spine(link); });
  }

  // Bandwidth per rank over the group's own links, then forgets all flows.
  BytesPerSecond take_bandwidth() {
    double bandwidth = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < own_; ++i) {
      bandwidth = std::min(bandwidth, graph_.links()[touched_[i]].bandwidth.value() / load_[touched_[i]]);
    }
    for (const LinkId link : touched_) load_[link] = 0;
    touched_.clear();
    own_ = 0;
    return BytesPerSecond(bandwidth);
  }

 private:
  const FabricGraph& graph_;
  std::vector<double> load_;
  std::vector<LinkId> touched_;
  std::size_t own_ = 0;
};

// Another group at work at the same time. Without a common domain it meets the group on the spine only.
struct Contender {
  GroupLayout layout;
  bool shares_domain;
};

Seconds latency_of(const FabricGraph& graph, const Route& route) {
  Seconds total;
  for (const LinkId link : route) total += graph.links()[link].latency;
  return total;
}

}  // namespace

struct Fabric::Impl {
  Impl(const HardwareProfile& profile, int devices)
      : graph(profile, devices),
        scale_up(profile.node.scale_up),
        mesh(profile.node.mesh),
        reduces(profile.node.in_switch_reduction) {}

  [[nodiscard]] GroupLayout layout(std::span<const int> group) const {
    return GroupLayout(
        group, [this](int device) { return graph.domain_of(device); }, mesh);
  }
  [[nodiscard]] std::vector<Contender> contenders(const GroupLayout& own,
                                                  std::span<const std::vector<int>> groups) const;
  void set_longest_path(std::span<const int> group, GroupLinks& links) const;

  FabricGraph graph;
  LinkSpec scale_up;
  bool mesh;
  bool reduces;
};

Fabric::Fabric(const HardwareProfile& profile, std::int64_t devices) {
  if (devices < 1 || devices > kMaxDevices) {
    throw InputError("GPUs", std::to_string(devices) + " is not a cluster size",
                     "from 1 to " + std::to_string(kMaxDevices));
  }
  if (profile.node.mesh && profile.node.domain > kMaxMeshDomain) {
    throw InputError("fast domain", "of " + std::to_string(profile.node.domain) + " GPUs is too large for a full mesh",
                     "at most " + std::to_string(kMaxMeshDomain));
  }
  impl_ = std::make_unique<Impl>(profile, static_cast<int>(devices));
}

Fabric::~Fabric() = default;
Fabric::Fabric(Fabric&&) noexcept = default;
Fabric& Fabric::operator=(Fabric&&) noexcept = default;

std::int64_t Fabric::devices() const { return impl_->graph.devices(); }

// The groups that `own` may meet: one that stays in its domain never comes to the spine.
std::vector<Contender> Fabric::Impl::contenders(const GroupLayout& own,
                                                std::span<const std::vector<int>> groups) const {
  const auto met = [&](int device) { return own.touches(graph.domain_of(device)); };
  std::vector<Contender> result;
  for (const std::vector<int>& group : groups) {
    const bool shares_domain = std::any_of(group.begin(), group.end(), met);
    if (group.size() > 1 && (shares_domain || own.domains() > 1)) result.push_back({layout(group), shares_domain});
  }
  return result;
}

// In a tree of switches the first rank sees the longest path or one as long.
void Fabric::Impl::set_longest_path(std::span<const int> group, GroupLinks& links) const {
  for (const int device : group.subspan(1)) {
    const Route route = graph.route(group.front(), device);
    links.latency = std::max(links.latency, latency_of(graph, route));
    links.hops = std::max(links.hops, route.size());
  }
}

GroupLinks Fabric::links(std::span<const int> group, std::span<const std::vector<int>> concurrent_groups) const {
  ensure(!group.empty(), "a group has at least one rank");
  for (const int device : group) ensure(device >= 0 && device < devices(), "a group's device is in the cluster");
  GroupLinks links;
  links.ranks = static_cast<int>(group.size());
  links.intra_bandwidth = links.ring_bandwidth = links.all_to_all_bandwidth = links.inter_bandwidth =
      impl_->scale_up.bandwidth;
  links.peer_access = impl_->scale_up.kind != "pcie";
  if (group.size() == 1) return links;

  const GroupLayout own = impl_->layout(group);
  const std::vector<Contender> others = impl_->contenders(own, concurrent_groups);
  LinkLoads loads(impl_->graph);
  const auto bandwidth = [&](auto pattern) {
    const auto add = [&](int from, int to, double share) { loads.add(from, to, share); };
    pattern(own, add);
    loads.own_flows_end();
    const bool on_spine = loads.own_on_spine();
    for (const Contender& other : others) {
      if (other.shares_domain || on_spine) pattern(other.layout, add);
    }
    return loads.take_bandwidth();
  };
  links.nodes = own.domains();
  links.ranks_per_node = static_cast<int>(own.largest_domain());
  links.even = own.smallest_domain() == own.largest_domain();
  links.ring_bandwidth = bandwidth([](const GroupLayout& layout, auto add) { layout.ring(add); });
  links.all_to_all_bandwidth = bandwidth([](const GroupLayout& layout, auto add) { layout.all_to_all(add); });
  if (links.ranks_per_node > 1) {
    links.intra_bandwidth = bandwidth([](const GroupLayout& layout, auto add) { layout.ring_inside_domains(add); });
  }
  links.inter_bandwidth = links.nodes == 1 ? links.intra_bandwidth
                                           : bandwidth([](const GroupLayout& layout, auto add) { layout.across(add); });
  links.in_switch_reduction = links.nodes == 1 && impl_->reduces;
  impl_->set_longest_path(group, links);
  return links;
}

GroupLinks Fabric::path(int from, int to) const {
  const std::array<int, 2> group{from, to};
  GroupLinks links;
  links.ranks = 2;
  ensure(from != to, "a path joins two devices");
  const FabricGraph& graph = impl_->graph;
  ensure(from >= 0 && from < graph.devices() && to >= 0 && to < graph.devices(), "a path's ends are in the cluster");
  links.nodes = graph.domain_of(from) == graph.domain_of(to) ? 1 : 2;
  links.ranks_per_node = links.nodes == 1 ? 2 : 1;
  links.peer_access = impl_->scale_up.kind != "pcie";
  impl_->set_longest_path(group, links);
  LinkLoads loads(graph);
  loads.add(from, to, 1);
  loads.own_flows_end();
  links.intra_bandwidth = links.ring_bandwidth = links.all_to_all_bandwidth = links.inter_bandwidth =
      loads.take_bandwidth();
  return links;
}

}  // namespace shardplan
