// What every rank holds of every value of a step graph, for one batch.
//
// Derived from the graph's placements and the index sets alone, so that senders and receivers agree without a word.
#pragma once

#include <vector>

#include "calibrate/local_array.h"
#include "costmodel/step_graph.h"

namespace shardplan {

class Layouts {
 public:
  Layouts(const StepGraph& graph, const RaggedBatch& batch);

  // Dimensions in the tensor's order. Routed values: no tokens yet, they are known when they arrive.
  [[nodiscard]] const LocalDims& at(ValueId value, int rank) const {
    return dims_[static_cast<std::size_t>(value)][static_cast<std::size_t>(rank)];
  }
  // Largest element count on any rank.
  [[nodiscard]] std::int64_t largest(ValueId value) const;

 private:
  std::vector<std::vector<LocalDims>> dims_;
};

// The same for one value.
[[nodiscard]] LocalDims local_dims(const StepGraph& graph, const RaggedBatch& batch, ValueId value, int rank);

// Floats that one element of the tensor takes: 2 for routing (expert, weight), else 1.
[[nodiscard]] int floats_per_element(const Tensor& tensor);

}  // namespace shardplan
