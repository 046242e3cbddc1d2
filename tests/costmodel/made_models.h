// Models made for a test: a few layers of stated sizes, all in bf16.
#pragma once

#include <cstdint>
#include <vector>

#include "models/model_spec.h"

namespace shardplan {

[[nodiscard]] AttentionSpec grouped_attention(std::int64_t q_heads, std::int64_t kv_heads, std::int64_t head_dim);
[[nodiscard]] FfnSpec dense_ffn(std::int64_t intermediate);
[[nodiscard]] FfnSpec moe_ffn(std::int64_t experts, std::int64_t per_token, std::int64_t intermediate,
                              std::int64_t shared = 0);

struct MadeModel {
  std::int64_t hidden = 16;
  std::int64_t vocab = 42;
  std::int64_t layers = 1;  // of the one kind
  AttentionSpec attention;
  FfnSpec ffn;
};
[[nodiscard]] ModelSpec made_model(const MadeModel& made);

// Small models of every family: grouped, windowed and latent attention; dense, routed and shared experts. Extents
// divide by 8 wherever a strategy splits them, but for KV heads and vocabulary.
[[nodiscard]] std::vector<ModelSpec> small_family_models();

// The same, and published models of each family.
[[nodiscard]] const std::vector<ModelSpec>& property_models();

}  // namespace shardplan
