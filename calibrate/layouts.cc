#include "calibrate/layouts.h"

#include <algorithm>

#include "calibrate/kernels/moe.h"
#include "calibrate/token_id.h"
#include "costmodel/index_sets.h"

namespace shardplan {
namespace {

// Requests that compute in this step, one element each, named by position 0.
std::vector<TokenIndex> requests_of(const RaggedBatch& batch) {
  std::vector<TokenIndex> requests = batch_tokens(batch, Phase::kLast);
  for (TokenIndex& request : requests) request.position = 0;
  return requests;
}

// Caches hold the step's new positions too; views of them (activations) only what was there before.
std::vector<TokenIndex> all_of(const RaggedBatch& batch, const Tensor& tensor, Dim dim) {
  if (dim == Dim::kTokens) return batch_tokens(batch, tensor.phase);
  if (dim == Dim::kRequests) return requests_of(batch);
  return batch_positions(batch, tensor.phase, tensor.lifetime == Lifetime::kCache, {tensor.every, tensor.window});
}

std::vector<std::int64_t> ragged_ids(const StepGraph& graph, const RaggedBatch& batch, const Value& value, Dim dim, int rank) {
  if (!value.placement.routed.empty()) return {};
  const Tensor& tensor = graph.logical.tensor(value.tensor);
  const std::vector<TokenIndex> all = all_of(batch, tensor, dim);
  std::vector<std::int64_t> ids = held_tokens(graph.mesh, value.placement.of(dim), batch, all, graph.interleave_of(tensor), rank);
  for (std::int64_t& id : ids) id = token_id(all[static_cast<std::size_t>(id)]);
  return ids;
}

}  // namespace

LocalDims local_dims(const StepGraph& graph, const RaggedBatch& batch, ValueId id, int rank) {
  const Value& value = graph.value(id);
  LocalDims dims;
  for (const DimExtent& d : graph.tensor_of(id).dims) {
    const bool ragged = d.dim == Dim::kTokens || d.dim == Dim::kPositions || d.dim == Dim::kRequests;
    dims.push_back({d.dim, ragged ? ragged_ids(graph, batch, value, d.dim, rank)
                                  : held_indices(graph.mesh, value.placement.of(d.dim), d.extent, rank)});
  }
  return dims;
}

Layouts::Layouts(const StepGraph& graph, const RaggedBatch& batch) {
  for (std::size_t v = 0; v < graph.values.size(); ++v) {
    auto& ranks = dims_.emplace_back();
    for (int rank = 0; rank < graph.mesh.ranks(); ++rank) ranks.push_back(local_dims(graph, batch, static_cast<ValueId>(v), rank));
  }
}

std::int64_t Layouts::largest(ValueId value) const {
  std::int64_t most = 0;
  for (const LocalDims& dims : dims_[static_cast<std::size_t>(value)]) most = std::max(most, element_count(dims));
  return most;
}

int floats_per_element(const Tensor& tensor) {
  if (tensor.format == &candidate_format()) return 2;
  return tensor.has(Dim::kRouted) ? kRoutingWidth : 1;
}

}  // namespace shardplan
