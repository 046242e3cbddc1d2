#include "costmodel/eplb.h"

#include <algorithm>
#include <numeric>

#include "base/errors.h"

namespace shardplan {
namespace {

using Index = std::int64_t;
using Loads = std::vector<float>;

std::size_t at(Index i) { return static_cast<std::size_t>(i); }

// Item -> pack, and its order of arrival there.
struct Packing {
  std::vector<Index> pack;
  std::vector<Index> rank;
};

std::vector<Index> heaviest_first(const Loads& loads) {
  std::vector<Index> order(loads.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](Index a, Index b) { return loads[at(a)] > loads[at(b)]; });
  return order;
}

// Equal counts per pack: heaviest first, each to the lightest pack with room. One item per pack stays in place.
Packing pack_balanced(const Loads& loads, Index packs) {
  const Index room = std::ssize(loads) / packs;
  Packing packing{std::vector<Index>(loads.size()), std::vector<Index>(loads.size(), 0)};
  if (room == 1) {
    std::iota(packing.pack.begin(), packing.pack.end(), 0);
    return packing;
  }
  Loads sums(at(packs), 0.0F);
  std::vector<Index> filled(at(packs), 0);
  for (const Index item : heaviest_first(loads)) {
    Index lightest = -1;
    for (Index p = 0; p < packs; ++p) {
      if (filled[at(p)] < room && (lightest < 0 || sums[at(p)] < sums[at(lightest)])) lightest = p;
    }
    packing.pack[at(item)] = lightest;
    packing.rank[at(item)] = filled[at(lightest)]++;
    sums[at(lightest)] += loads[at(item)];
  }
  return packing;
}

struct Replication {
  std::vector<Index> expert;   // copy -> expert
  std::vector<Index> replica;  // copy -> its number among the copies of that expert
  std::vector<Index> count;    // expert -> copies
};

// One copy of each expert, then each spare copy to the largest load per copy.
Replication replicate(const Loads& loads, Index copies) {
  Replication result{std::vector<Index>(loads.size()), std::vector<Index>(loads.size(), 0),
                     std::vector<Index>(loads.size(), 1)};
  std::iota(result.expert.begin(), result.expert.end(), 0);
  const auto per_copy = [&](std::size_t e) { return loads[e] / static_cast<float>(result.count[e]); };
  for (Index copy = std::ssize(loads); copy < copies; ++copy) {
    std::size_t heaviest = 0;
    for (std::size_t e = 1; e < loads.size(); ++e) {
      if (per_copy(e) > per_copy(heaviest)) heaviest = e;
    }
    result.expert.push_back(static_cast<Index>(heaviest));
    result.replica.push_back(result.count[heaviest]++);
  }
  return result;
}

// The experts of each node, in the order that packing whole routing groups gives.
std::vector<std::vector<Index>> experts_of_nodes(const Loads& loads, Index groups, Index nodes) {
  const Index group_size = std::ssize(loads) / groups;
  const Index groups_per_node = groups / nodes;
  Loads group_loads;
  for (Index g = 0; g < groups; ++g) {
    const auto begin = loads.begin() + g * group_size;
    group_loads.push_back(std::accumulate(begin, begin + group_size, 0.0F));
  }
  const Packing packing = pack_balanced(group_loads, nodes);
  std::vector<std::vector<Index>> experts(at(nodes), std::vector<Index>(at(groups_per_node * group_size)));
  for (Index g = 0; g < groups; ++g) {
    const auto first = experts[at(packing.pack[at(g)])].begin() + packing.rank[at(g)] * group_size;
    std::iota(first, first + group_size, g * group_size);
  }
  return experts;
}

// Replicates and packs the experts of one node onto its `ranks` ranks, whose slots start at `first_slot`.
void place_node(const Loads& loads, const std::vector<Index>& experts, Index slots, Index ranks, Index first_slot,
                EplbPlacement& placement) {
  Loads node_loads;
  for (const Index e : experts) node_loads.push_back(loads[at(e)]);
  const Replication copies = replicate(node_loads, slots);
  Loads copy_loads;
  for (const Index local : copies.expert)
    copy_loads.push_back(node_loads[at(local)] / static_cast<float>(copies.count[at(local)]));
  const Packing packing = pack_balanced(copy_loads, ranks);
  for (std::size_t i = 0; i < experts.size(); ++i) {
    placement.replicas[at(experts[i])] = copies.count[i];
    placement.expert_slots[at(experts[i])].resize(at(copies.count[i]));
  }
  for (std::size_t c = 0; c < copies.expert.size(); ++c) {
    const Index expert = experts[at(copies.expert[c])];
    const Index slot = first_slot + packing.pack[c] * (slots / ranks) + packing.rank[c];
    placement.slot_expert[at(slot)] = expert;
    placement.expert_slots[at(expert)][at(copies.replica[c])] = slot;
  }
}

std::vector<double> loads_of_ranks(const EplbRequest& request, const EplbPlacement& placement) {
  std::vector<double> loads(at(request.ranks), 0.0);
  const std::size_t slots_per_rank = at(request.slots / request.ranks);
  for (std::size_t slot = 0; slot < placement.slot_expert.size(); ++slot) {
    const std::size_t expert = at(placement.slot_expert[slot]);
    loads[slot / slots_per_rank] += request.loads[expert] / static_cast<double>(placement.replicas[expert]);
  }
  return loads;
}

bool nests(const EplbRequest& request) {
  return request.groups % request.nodes == 0 && std::ssize(request.loads) % request.groups == 0 &&
         request.ranks % request.nodes == 0;
}

}  // namespace

EplbPlacement place_experts(const EplbRequest& request) {
  ensure(request.ranks >= 1 && request.groups >= 1 && request.nodes >= 1, "EPLB needs ranks, groups and nodes");
  ensure(!request.loads.empty() && request.slots >= std::ssize(request.loads), "EPLB needs a slot for every expert");
  ensure(request.slots % request.ranks == 0, "EPLB needs as many slots on every rank");
  const Index groups = nests(request) ? request.groups : 1;
  const Index nodes = nests(request) ? request.nodes : 1;
  const Loads loads(request.loads.begin(), request.loads.end());
  EplbPlacement placement;
  placement.slot_expert.resize(at(request.slots));
  placement.replicas.resize(loads.size());
  placement.expert_slots.resize(loads.size());
  const auto experts = experts_of_nodes(loads, groups, nodes);
  const Index node_slots = request.slots / nodes;
  for (Index node = 0; node < nodes; ++node) {
    place_node(loads, experts[at(node)], node_slots, request.ranks / nodes, node * node_slots, placement);
  }
  placement.rank_load = loads_of_ranks(request, placement);
  return placement;
}

}  // namespace shardplan
