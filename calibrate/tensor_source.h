// Random weights, inputs and cached rows: a number for every (tensor, global indices), so that each rank cuts its
// part out of the same logical tensor without ever holding it.
//
// value = hash(seed, layer, tensor, indices) mapped to [-1, 1), then scaled: matrices by sqrt(3 / inputs), which keeps
// the variance of what passes through; vectors to 1 + u/4; activations and cached rows by 1. Own generator (splitmix64),
// the same bits everywhere.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "calibrate/local_array.h"
#include "costmodel/logical_graph.h"

namespace shardplan {

class TensorSource {
 public:
  explicit TensorSource(std::uint64_t seed) : seed_(seed) {}

  // Names a tensor of a layer. Two weights of one name and part differ by their order in the graph, so that a
  // weight is the same in the prefill and decode graphs.
  [[nodiscard]] std::uint64_t key(const LogicalGraph& graph, TensorId tensor, std::int64_t layer) const;
  // A name without a graph, as references use it: `ordinal` counts weights of equal name and part.
  [[nodiscard]] std::uint64_t key(std::string_view name, Part part, std::int64_t ordinal, std::int64_t layer) const;

  // Uniform in [-1, 1).
  [[nodiscard]] double uniform(std::uint64_t key, const std::vector<std::int64_t>& indices) const;

  // An element of a weight that adds up `inputs` terms per output; 0: a vector.
  [[nodiscard]] double weight(std::uint64_t key, const std::vector<std::int64_t>& indices, std::int64_t inputs) const;

  // The local part of a weight, an input or cached rows with these dims (in the tensor's order).
  [[nodiscard]] LocalArray cut(const LogicalGraph& graph, TensorId tensor, std::int64_t layer, const LocalDims& dims) const;
  // Token ids in [0, vocab) of the tokens in `dims`.
  [[nodiscard]] LocalArray token_ids(const LocalDims& dims, std::int64_t vocab) const;

 private:
  std::uint64_t seed_;
};

}  // namespace shardplan
