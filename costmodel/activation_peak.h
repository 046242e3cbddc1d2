// The most bytes of activations that are live at once on the busiest rank during one graph.
//
// A value lives from the node that makes it to the last node that reads it; the residual stream lives throughout.
// Values that a later kernel reads in place (views, in-place adds) are counted once. Wrong by what a kernel keeps
// inside and by an allocator's fragments.
#pragma once

#include "base/quantity.h"
#include "costmodel/batch.h"
#include "costmodel/step_graph.h"

namespace shardplan {

[[nodiscard]] Bytes activation_peak(const StepGraph& graph, const BatchShape& shape);

}  // namespace shardplan
