// What every family's config.json says in the same words: hidden and vocabulary sizes, how many
// layers, and the heads of grouped attention.
#pragma once

#include <cstdint>
#include <vector>

#include "base/json.h"
#include "models/model_spec.h"

namespace shardplan {

// hidden, vocab, max_positions, tied_embeddings and the number of MTP modules; no layers yet.
[[nodiscard]] ModelSpec read_outline(JsonObject& config);

[[nodiscard]] std::int64_t read_layer_count(JsonObject& config);

// Heads and head_dim (hidden/q_heads only where head_dim is absent; Qwen3-4B has 128, not 80).
// InputError unless kv_heads divides q_heads.
[[nodiscard]] AttentionSpec read_grouped_attention(JsonObject& config, std::int64_t hidden);

// intermediate_size of a dense, gated FFN.
[[nodiscard]] FfnSpec read_dense_ffn(JsonObject& config);

// experts_per_token, bounded by the number of experts.
[[nodiscard]] std::int64_t read_experts_per_token(JsonObject& config, std::string_view key, std::int64_t experts);

// The window of each layer from "layer_types": `window` where it says sliding_attention, 0 where
// full_attention. Empty when the key is absent.
[[nodiscard]] std::vector<std::int64_t> read_layer_types(JsonObject& config, std::int64_t layers, std::int64_t window);

// One whole number from 0 to 1e6 for each layer; empty when the key is absent.
[[nodiscard]] std::vector<std::int64_t> read_flags(JsonObject& config, std::string_view key, std::int64_t layers);

// "dense", "moe_sliding", "moe_recurrent", "attention", "dense_only", ...
[[nodiscard]] std::string kind_name(const AttentionSpec& attention, const FfnSpec& ffn);

// A layer named by kind_name.
[[nodiscard]] LayerKind layer_of(const AttentionSpec& attention, const FfnSpec& ffn);

// Appends `attention` and `ffn` as one more layer, named by kind_name.
void append_layer(ModelSpec& model, const AttentionSpec& attention, const FfnSpec& ffn);

}  // namespace shardplan
