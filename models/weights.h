// Every weight of a model by name and shape: the one list behind parameter counts, weight bytes and
// whatever has to know which matrices a layer multiplies by.
//
// A matrix is [rows, columns] = [out, in], as stored in the checkpoint: Q, K and V are three matrices,
// gate and up are two (their scales are stored apart). A vector (norm, bias, sink) has one column.
// Sources: the tensor names of the published checkpoints of each family.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "models/model_spec.h"

namespace shardplan {

enum class ModuleFamily {
  kEmbedding,
  kAttention,
  kAttentionOutput,
  kDenseFfn,
  kSharedExperts,
  kExperts,
  kHead,
  kOther,  // norms and routers
};

struct WeightTensor {
  std::string_view name;  // "q", "kv_a", "gate", "router", "final_norm", ...
  ModuleFamily family = ModuleFamily::kOther;
  std::int64_t rows = 0;
  std::int64_t columns = 1;
  std::int64_t copies = 1;                      // routed experts hold one each
  bool quantisable = false;                     // stored in its family's format; otherwise in the format of `other`
  bool multiplies = false;                      // a token is multiplied by it (not a vector, not a table)
  [[nodiscard]] std::int64_t elements() const;  // of all copies
};

// The weights of one layer of `kind`, in the order a token meets them.
[[nodiscard]] std::vector<WeightTensor> layer_weights(const LayerKind& kind, std::int64_t hidden);

// The weights outside the layers: embedding, final norm and, unless tied, head.
[[nodiscard]] std::vector<WeightTensor> outer_weights(const ModelSpec& model);

[[nodiscard]] const NumberFormat& format_of(const WeightFormats& formats, const WeightTensor& tensor);

// Stored bytes of all copies, scales included.
[[nodiscard]] Bytes bytes_of(const WeightTensor& tensor, const NumberFormat& format);

}  // namespace shardplan
