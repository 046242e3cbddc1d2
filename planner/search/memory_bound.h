// Weights per GPU from below, before anything is lowered.
//
//   (latent + attention/tp + experts/(ep*moe_tp) + dense/dense_tp + shared/shared_tp + (embedding + head)/tp) / pp
// No table splits a weight further than its part's width, and the fullest of pp stages holds at least the mean; norms,
// biases, routers and replication only add. So what exceeds the capacity here never fits.
#pragma once

#include "models/weights.h"
#include "planner/plan.h"

namespace shardplan {

struct WeightParts {
  double attention = 0, latent = 0, experts = 0, dense = 0, shared = 0, ends = 0;  // bytes, unsharded
};
// MLA's projections into its latents: every rank of the tensor group needs them whole.
[[nodiscard]] bool is_latent_projection(const WeightTensor& tensor);
[[nodiscard]] WeightParts weight_parts(const ModelSpec& model);
[[nodiscard]] Bytes weights_per_gpu_bound(const ModelSpec& model, const WeightParts& parts,
                                          const ParallelConfig& config);

}  // namespace shardplan
