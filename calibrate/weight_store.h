// One rank's weights, cut once and kept as a server keeps them.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "calibrate/storage.h"
#include "calibrate/tensor_source.h"

namespace shardplan {

struct WeightDims {
  LocalDims cut;    // the elements
  LocalDims taken;  // as what they are used
};

class WeightStore {
 public:
  // The rank's part of a weight; cut again when a table places it differently than before.
  const LocalArray& get(const TensorSource& source, const LogicalGraph& graph, TensorId tensor, std::int64_t layer, const WeightDims& dims,
                        Storage storage);
  // The same numbers in memory of their own as another layer's: what is read does not depend on which.
  void copy(const TensorSource& source, const LogicalGraph& graph, TensorId tensor, std::int64_t from, std::int64_t to) {
    weights_[source.key(graph, tensor, to)] = weights_.at(source.key(graph, tensor, from));
  }

 private:
  std::unordered_map<std::uint64_t, LocalArray> weights_;   // by TensorSource::key
};

}  // namespace shardplan
