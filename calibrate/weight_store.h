// One rank's weights, cut once and kept as a server keeps them.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "calibrate/storage.h"
#include "calibrate/tensor_source.h"

namespace shardplan {

class WeightStore {
 public:
  // The rank's part of a weight; cut again when a table places it differently than before.
  const LocalArray& get(const TensorSource& source, const LogicalGraph& graph, TensorId tensor, std::int64_t layer, const LocalDims& dims,
                        Storage storage);

 private:
  std::unordered_map<std::uint64_t, LocalArray> weights_;   // by TensorSource::key
};

}  // namespace shardplan
