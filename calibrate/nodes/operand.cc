#include "calibrate/nodes/operand.h"

#include <algorithm>

namespace shardplan {
namespace {

// A rank's part of a weight: which elements, and as what it takes them. They differ only where a test spoils them.
WeightDims weight_dims(const RankState& state, ValueId id) {
  const LocalDims& own = state.plan.layouts.at(id, state.rank);
  const int other_rank = state.context.tamper == nullptr ? state.rank : state.context.tamper->weights_of(state.rank);
  if (other_rank == state.rank || other_rank >= state.graph().mesh.ranks()) return {own, own};
  const LocalDims& other = state.plan.layouts.at(id, other_rank);
  const auto same_size = [](const LocalDim& a, const LocalDim& b) { return a.ids.size() == b.ids.size(); };
  return {std::equal(own.begin(), own.end(), other.begin(), same_size) ? other : own, own};
}

}  // namespace

const LocalArray& operand(RankState& state, ValueId id) {
  if (!state.value(id).dims.empty()) return state.gathered(id);
  const TensorId tensor = state.graph().value(id).tensor;
  const RankContext& context = state.context;
  if (state.graph().logical.tensor(tensor).lifetime == Lifetime::kWeight) {
    return context.weights.get(context.source, state.graph().logical, tensor, state.layer, weight_dims(state, id), context.storage);
  }
  state.set(id, context.source.cut(state.graph().logical, tensor, state.layer, state.plan.layouts.at(id, state.rank)));
  return state.value(id);
}

}  // namespace shardplan
