// The feed-forward branch of one token in double: dense MLP, or routed (perhaps latent) and shared experts.
#pragma once

#include <cstdint>
#include <map>

#include "calibrate/reference/plain_weights.h"
#include "models/model_spec.h"

namespace shardplan {

// Room that the experts of a layer have in a step: each takes its first `capacity` tokens. 0: any number.
struct PlainRoom {
  std::int64_t capacity = 0;
  std::map<std::int64_t, std::int64_t> taken;   // by expert
};

// `norm`: ordinal of the experts' norm among the layer's norms.
[[nodiscard]] Vector plain_feed_forward(const PlainLayer& layer, const FfnSpec& spec, const Vector& x, std::int64_t norm, PlainRoom& room);

}  // namespace shardplan
