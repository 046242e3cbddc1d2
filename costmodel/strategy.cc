#include "costmodel/strategy.h"

namespace shardplan {

Placement Strategy::place(const Tensor& tensor) const {
  Placement placement;
  for (const DimExtent& dim : tensor.dims) {
    ShardList list;
    const bool per_request = dim.dim == Dim::kRequests;   // the state of a request lies where its positions do, by request
    for (const PlaceRow& row : rows) {
      if (per_request && row.part == tensor.part && row.dim == Dim::kPositions && row.name.empty() && row.layout == Layout::kByRequest) {
        for (const Digit digit : row.digits) list.push_back({dim.dim, digit, row.layout});
      }
      if (row.part != tensor.part || row.dim != dim.dim || (!row.name.empty() && row.name != tensor.name)) continue;
      if (row.replace) list.clear();
      for (const Digit digit : row.digits) list.push_back({dim.dim, digit, row.layout});
    }
    placement.shards.insert(placement.shards.end(), list.begin(), list.end());
  }
  return placement;
}

}  // namespace shardplan
