// Recurrent mixers of one layer in double, request by request, written as the papers write them: states are matrices,
// heads one after the other, convolutions over the whole history of raw inputs.
#pragma once

#include "calibrate/reference/plain_attention.h"

namespace shardplan {

// The branch's output before it is added to the residual. States before the step come from the layer's source.
[[nodiscard]] PlainRows plain_recurrent(const PlainLayer& layer, const RecurrentSpec& spec, const RaggedBatch& batch,
                                        const PlainRows& x);

}  // namespace shardplan
