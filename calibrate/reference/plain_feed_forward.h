// The feed-forward branch of one token in double: dense MLP, or routed (perhaps latent) and shared experts.
#pragma once

#include "calibrate/reference/plain_weights.h"
#include "models/model_spec.h"

namespace shardplan {

// `norm`: ordinal of the experts' norm among the layer's norms.
[[nodiscard]] Vector plain_feed_forward(const PlainLayer& layer, const FfnSpec& spec, const Vector& x, std::int64_t norm);

}  // namespace shardplan
