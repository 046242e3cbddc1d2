// Parameters of the tower that turns images into tokens, from "vision_config".
//
// A transformer of `depth` layers (four attention matrices with biases, two or three of an MLP, two norms), patch
// and position embeddings before it and projections to the hidden size of the text behind it. Known in the words of
// Qwen-VL (exact), Kimi (MoonViT), Gemma-4 SigLIP (Gemma-3) and Pixtral (Mistral 3); others give 0.
#pragma once

#include <cstdint>

#include "base/json.h"

namespace shardplan {

// 0 when the words are not known. `text_hidden`: hidden size of the text model.
[[nodiscard]] std::int64_t count_vision_parameters(JsonObject& vision, std::int64_t text_hidden);

// Attention heads, which tensor parallelism splits; 0 when it does not say.
[[nodiscard]] std::int64_t vision_heads(JsonObject& vision);

// Pixel values of the patches that become one token: 3 colours * frames * (patch * merge)^2; 0 when it does not say.
// `tokens_per_image`: mm_tokens_per_image where every image is one size and gives as many tokens (Gemma-3); or 0. `merge`: patches a
// side that become one token where the outer config says so (Mistral 3); or 0.
[[nodiscard]] std::int64_t vision_values_per_token(JsonObject& vision, std::int64_t tokens_per_image, std::int64_t merge);

}  // namespace shardplan
