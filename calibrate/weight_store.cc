#include "calibrate/weight_store.h"

namespace shardplan {

const LocalArray& WeightStore::get(const TensorSource& source, const LogicalGraph& graph, TensorId tensor, std::int64_t layer,
                                   const WeightDims& dims, Storage storage) {
  LocalArray& held = weights_[source.key(graph, tensor, layer)];
  if (held.dims != dims.taken || held.dims.empty()) {
    held = source.cut(graph, tensor, layer, dims.cut);
    held.dims = dims.taken;
    if (is_rounded(storage, graph.tensor(tensor))) round_to_bf16(held.values);
  }
  return held;
}

}  // namespace shardplan
