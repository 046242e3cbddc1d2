#include "models/families/routed.h"

#include <fmt/format.h>

#include "base/errors.h"
#include "models/families/outline.h"
#include "models/limits.h"

namespace shardplan {

void read_group_routing(JsonObject& config, FfnSpec& ffn) {
  ffn.router_bias = config.string_or("topk_method", "greedy") == "noaux_tc";
  ffn.renormalise = config.boolean_or("norm_topk_prob", false);
  ffn.groups = config.integer_or("n_group", 1, 1, ffn.experts);
  ffn.groups_per_token = config.integer_or("topk_group", 1, 1, ffn.groups);
  if (ffn.experts % ffn.groups != 0) {
    throw InputError(config.where("n_group"), fmt::format("is {}", ffn.groups),
                     fmt::format("a divisor of the {} experts", ffn.experts));
  }
}

FfnSpec read_routed_experts(JsonObject& config) {
  FfnSpec ffn;
  ffn.kind = FfnKind::kMoe;
  ffn.intermediate = config.integer("moe_intermediate_size", 1, kMaxIntermediate);
  ffn.experts = config.integer("n_routed_experts", 1, kMaxExperts);
  ffn.experts_per_token = read_experts_per_token(config, "num_experts_per_tok", ffn.experts);
  ffn.shared_intermediate = config.integer_or("n_shared_experts", 0, 0, kMaxExperts) * ffn.intermediate;
  read_group_routing(config, ffn);
  return ffn;
}

}  // namespace shardplan
