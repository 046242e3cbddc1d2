#include "calibrate/nodes/rank_state.h"

namespace shardplan {

LocalArray RankState::shaped(ValueId id) const {
  const Value& value = graph().value(id);
  return LocalArray(plan.layouts.at(id, rank), floats_per_element(graph().tensor_of(id)), !value.placement.lse.empty());
}

}  // namespace shardplan
