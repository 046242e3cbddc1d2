// Tables of cosines and sines that engines precompute for rotary embeddings: one row for each position.
//
//   rows = positions, times the factor of a linear scaling; the original positions times the factor under YaRN
//   columns = the rotated part of a head; a table for each distinct (rows, columns, base)
// Source: vLLM logs 14.99 GiB of weights for Llama-3.1-8B's 14.96: 131072 * 128 elements of 2 bytes beside them.
#pragma once

#include <cstdint>

#include "base/json.h"
#include "models/model_spec.h"

namespace shardplan {

// 0 where nothing is rotated or the config gives no positions.
[[nodiscard]] std::int64_t count_rotary_elements(JsonObject& config, const ModelSpec& model);

}  // namespace shardplan
