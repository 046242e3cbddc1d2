// One transformer layer in double, written without the graph: what the run on one rank is held against, so that a fault
// that all ranks share (mask, head mapping) does not pass.
#pragma once

#include "calibrate/reference/plain_attention.h"

namespace shardplan {

struct PlainLayerRequest {
  const ModelSpec& model;
  const LayerKind& kind;
  const RaggedBatch& batch;
  std::uint64_t seed = 1;
  LatentForm latent_form = LatentForm::kExpanded;
  std::int64_t expert_capacity = 0;   // tokens of the step that an expert takes, lower requests and positions first; 0: all
};

// The residual stream after layer 0 for the batch's new tokens, from the random residual that a lone layer starts with.
[[nodiscard]] PlainRows plain_layer(const PlainLayerRequest& request);

}  // namespace shardplan
