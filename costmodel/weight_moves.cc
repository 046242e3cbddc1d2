#include "costmodel/weight_moves.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include "base/errors.h"
#include "costmodel/index_sets.h"
#include "costmodel/rank_shares.h"
#include "costmodel/work.h"

namespace shardplan {
namespace {

using Ids = std::vector<std::int64_t>;

std::map<TensorId, Placement> weight_placements(const StepGraph& graph) {
  std::map<TensorId, Placement> placements;
  for (const Value& value : graph.values) {
    if (graph.logical.tensor(value.tensor).lifetime == Lifetime::kWeight)
      placements.try_emplace(value.tensor, value.placement);
  }
  return placements;
}

// The place of a rank in its EP group.
std::int64_t ep_rank(const ParallelConfig& config, std::int64_t rank) { return rank / config.ep_stride() % config.ep; }

// Held indices of one dimension on every rank.
class Held {
 public:
  Held(const PlacedGraph& placed, const ExpertLoad& load) : placed_(placed) {
    for (const LogicalOp& op : placed.graph.logical.ops) {
      if (op.kind != OpKind::kExperts || placed.config.variant.redundant_experts == 0) continue;
      slots_ = expert_slots(load, op.experts.experts, op.experts.per_token, placed.config.ep,
                            placed.config.variant.redundant_experts);
    }
  }

  [[nodiscard]] std::int64_t ranks() const { return placed_.graph.mesh.ranks(); }
  // Ascending, each once.
  [[nodiscard]] Ids ids(const Tensor& tensor, const DimExtent& dim, const Placement& placement,
                        std::int64_t rank) const {
    if (dim.dim == Dim::kExperts && tensor.part == Part::kExperts && !slots_.empty()) {
      const Ids& slots = slots_[static_cast<std::size_t>(ep_rank(placed_.config, rank))];
      const std::set<std::int64_t> once(slots.begin(), slots.end());
      return {once.begin(), once.end()};
    }
    return held_indices(placed_.graph.mesh, placement.of(dim.dim), dim.extent, rank);
  }

 private:
  const PlacedGraph& placed_;
  std::vector<Ids> slots_;  // by EP rank; empty: as placed
};

// Bytes of one element, block scales included.
double element_bytes_of(const StepGraph& graph, const Tensor& tensor, const Placement& placement) {
  double elements = 1;
  for (const DimExtent& dim : tensor.dims)
    elements *= static_cast<double>(max_held(graph.mesh, placement.of(dim.dim), dim.extent));
  return held_weight_bytes(graph, tensor, placement) / elements;
}

}  // namespace

std::vector<LackedBytes> lacked_bytes(const PlacedGraph& before, const PlacedGraph& after, const ExpertLoad& load,
                                      bool with_tables) {
  const Held was(before, load);
  const Held is(after, load);
  const std::map<TensorId, Placement> old_placements = weight_placements(before.graph);
  std::vector<LackedBytes> out(static_cast<std::size_t>(is.ranks()));
  for (const auto& [id, placement] : weight_placements(after.graph)) {
    const Tensor& tensor = after.graph.logical.tensor(id);
    if (!with_tables && (tensor.part == Part::kEmbedding || tensor.part == Part::kHead)) continue;
    const double each = element_bytes_of(after.graph, tensor, placement);
    const auto old = old_placements.find(id);
    ensure(old != old_placements.end(), "both graphs are of one layer");
    for (std::int64_t rank = 0; rank < is.ranks(); ++rank) {
      double held = 1;
      double kept = rank < was.ranks() ? 1 : 0;
      for (const DimExtent& dim : tensor.dims) {
        const Ids now = is.ids(tensor, dim, placement, rank);
        held *= static_cast<double>(now.size());
        if (kept == 0) continue;
        const Ids then = was.ids(tensor, dim, old->second, rank);
        Ids both;
        std::set_intersection(now.begin(), now.end(), then.begin(), then.end(), std::back_inserter(both));
        kept *= static_cast<double>(both.size());
      }
      LackedBytes& lacks = out[static_cast<std::size_t>(rank)];
      (tensor.part == Part::kExperts ? lacks.experts : lacks.others) += (held - kept) * each;
    }
  }
  return out;
}

}  // namespace shardplan
