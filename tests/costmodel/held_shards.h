// Which global indices of a tensor's dimension every rank holds, read off a step graph by the tensor's name.
#pragma once

#include <string>
#include <vector>

#include "base/errors.h"
#include "costmodel/index_sets.h"
#include "costmodel/step_graph.h"

namespace shardplan {

using Indices = std::vector<std::int64_t>;

// The first value of the tensor of this name. InternalError when there is none.
[[nodiscard]] inline const Value& value_named(const StepGraph& graph, const std::string& name) {
  for (const Value& value : graph.values) {
    if (name == graph.logical.tensor(value.tensor).name) return value;
  }
  throw InternalError("the graph has no value of this name");
}

// By rank. `dim` is a fixed dimension.
[[nodiscard]] inline std::vector<Indices> held_by_rank(const StepGraph& graph, const std::string& name, Dim dim) {
  const Value& value = value_named(graph, name);
  const std::int64_t extent = graph.logical.tensor(value.tensor).extent(dim);
  std::vector<Indices> held;
  for (std::int64_t rank = 0; rank < graph.mesh.ranks(); ++rank) {
    held.push_back(held_indices(graph.mesh, value.placement.of(dim), extent, rank));
  }
  return held;
}

}  // namespace shardplan
