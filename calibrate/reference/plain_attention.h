// Attention of one layer in double, token by token, written without graphs, shards or online softmax.
//
// Grouped (MHA, GQA, MQA), and MLA twice: expanded to K and V per head, and absorbed into the latent. The two MLA forms
// must agree with each other.
#pragma once

#include <map>

#include "calibrate/reference/plain_weights.h"
#include "costmodel/batch.h"
#include "models/model_spec.h"

namespace shardplan {

// Normed residual rows of the step's new tokens, by (request, position) as token_id.
using PlainRows = std::map<std::int64_t, Vector>;

enum class LatentForm { kExpanded, kAbsorbed };

// The branch's output before it is added to the residual. Cached rows before the step come from the layer's source.
[[nodiscard]] PlainRows plain_grouped_attention(const PlainLayer& layer, const AttentionSpec& spec, const RaggedBatch& batch, const PlainRows& x);
[[nodiscard]] PlainRows plain_latent_attention(const PlainLayer& layer, const AttentionSpec& spec, const RaggedBatch& batch, const PlainRows& x,
                                               LatentForm form);

}  // namespace shardplan
