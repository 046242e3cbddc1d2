// Random legal configurations and batches, for properties. Call from inside an rc::check.
#pragma once

#include <cstdint>

#include "costmodel/batch.h"
#include "costmodel/lowered_model.h"
#include "models/model_spec.h"

namespace shardplan {

// Degrees are powers of two, at most `most_ranks` per stage and two stages; every variant that is legal may come.
[[nodiscard]] ParallelConfig any_config(const ModelSpec& model, std::int64_t most_ranks = 8);
// The lowering, discarding the case where no single-collective table serves the configuration.
[[nodiscard]] LoweredModel lowered_or_discard(const ModelSpec& model, const ParallelConfig& config);

// Counts that every split of at most 8 ranks cuts evenly: requests by 8, positions by 8 * interleave and 16.
[[nodiscard]] BatchShape even_decode();
[[nodiscard]] BatchShape even_prefill(bool with_prefix);

[[nodiscard]] std::int64_t any_of(std::int64_t from, std::int64_t to);  // inclusive

}  // namespace shardplan
