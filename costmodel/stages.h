// Which layers each pipeline stage holds.
#pragma once

#include <cstdint>
#include <vector>

#include "models/model_spec.h"

namespace shardplan {

struct StageLayers {
  std::int64_t first = 0;
  std::int64_t count = 0;
  std::vector<std::int64_t> of_kind;   // layers of each kind of the model
  bool is_first = false;               // holds the embedding
  bool is_last = false;                // holds final norm, head and sampling
};

// Even split, extras to the first stages (94 over 4: 24 24 23 23); engines differ: see planner/rules.
[[nodiscard]] std::vector<std::int64_t> even_layer_split(std::int64_t layers, std::int64_t stages);
// The split that minimises the slowest stage when layer l costs cost[l] and the ends cost `first` and `last` more.
// Contiguous, every stage at least one layer. Exact (binary search over prefix sums is not needed at these sizes).
[[nodiscard]] std::vector<std::int64_t> balanced_layer_split(const std::vector<double>& cost, double first, double last, std::int64_t stages);
[[nodiscard]] std::vector<StageLayers> stage_layers(const ModelSpec& model, const std::vector<std::int64_t>& split);

}  // namespace shardplan
