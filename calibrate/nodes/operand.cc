#include "calibrate/nodes/operand.h"

namespace shardplan {

const LocalArray& operand(RankState& state, ValueId id) {
  if (!state.value(id).dims.empty()) return state.gathered(id);
  const TensorId tensor = state.graph().value(id).tensor;
  const LocalDims& dims = state.plan.layouts.at(id, state.rank);
  const RankContext& context = state.context;
  if (state.graph().logical.tensor(tensor).lifetime == Lifetime::kWeight) {
    return context.weights.get(context.source, state.graph().logical, tensor, state.layer, dims, context.storage);
  }
  state.set(id, context.source.cut(state.graph().logical, tensor, state.layer, dims));
  return state.value(id);
}

}  // namespace shardplan
