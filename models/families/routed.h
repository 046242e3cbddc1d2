// What the models with DeepSeek's routing say of their experts in the same words.
#pragma once

#include "base/json.h"
#include "models/model_spec.h"

namespace shardplan {

// topk_method "noaux_tc" (one learned bias per expert), n_group, topk_group, norm_topk_prob into `ffn`, whose experts
// are read.
void read_group_routing(JsonObject& config, FfnSpec& ffn);

// n_routed_experts of moe_intermediate_size, n_shared_experts of them as one FFN, and their routing.
[[nodiscard]] FfnSpec read_routed_experts(JsonObject& config);

}  // namespace shardplan
