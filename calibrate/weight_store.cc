#include "calibrate/weight_store.h"

namespace shardplan {

const LocalArray& WeightStore::get(const TensorSource& source, const LogicalGraph& graph, TensorId tensor, std::int64_t layer,
                                   const LocalDims& dims, Storage storage) {
  LocalArray& held = weights_[source.key(graph, tensor, layer)];
  if (held.dims != dims || held.dims.empty()) {
    held = source.cut(graph, tensor, layer, dims);
    if (is_rounded(storage, graph.tensor(tensor))) round_to_bf16(held.values);
  }
  return held;
}

}  // namespace shardplan
