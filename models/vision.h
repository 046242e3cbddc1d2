// Parameters of the tower that turns images into tokens, from "vision_config".
//
// A transformer of `depth` layers (four attention matrices with biases, two or three of an MLP, two norms), patch
// and position embeddings before it and projections to the hidden size of the text behind it. Known in the words of
// Qwen-VL (exact), Kimi (MoonViT) and Gemma-4; others give 0.
#pragma once

#include <cstdint>

#include "base/json.h"

namespace shardplan {

// 0 when the words are not known. `text_hidden`: hidden size of the text model.
[[nodiscard]] std::int64_t count_vision_parameters(JsonObject& vision, std::int64_t text_hidden);

}  // namespace shardplan
