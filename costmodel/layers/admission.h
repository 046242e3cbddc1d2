// A capacity factor as an operation of the layer: after the router, before the experts.
#pragma once

#include "costmodel/logical_graph.h"

namespace shardplan {

// An OpKind::kAdmit before each kExperts, which reads the picks that are left: `routing` keeps its shape, refused picks
// have no expert. `capacity_factor_ratio` > 0.
[[nodiscard]] LogicalGraph with_admission(LogicalGraph graph, double capacity_factor_ratio);

}  // namespace shardplan
