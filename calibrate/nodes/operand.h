// What a node reads: values that nodes before it computed; weights and step inputs that none computes come from the
// source.
#pragma once

#include "calibrate/nodes/rank_state.h"

namespace shardplan {

[[nodiscard]] const LocalArray& operand(RankState& state, ValueId id);

}  // namespace shardplan
