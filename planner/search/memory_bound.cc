#include "planner/search/memory_bound.h"

#include <algorithm>

#include "costmodel/lowering/modules.h"

namespace shardplan {
namespace {

void add(WeightParts& parts, const WeightTensor& tensor, const WeightFormats& formats, double copies) {
  if (!tensor.quantisable) return;  // norms and biases
  const double bytes = static_cast<double>(bytes_of(tensor, format_of(formats, tensor)).value()) * copies;
  switch (tensor.family) {
    case ModuleFamily::kAttention:
    case ModuleFamily::kAttentionOutput:
      (is_latent_projection(tensor) ? parts.latent : parts.attention) += bytes;
      break;
    case ModuleFamily::kExperts:
      parts.experts += bytes;
      break;
    case ModuleFamily::kDenseFfn:
      parts.dense += bytes;
      break;
    case ModuleFamily::kSharedExperts:
      parts.shared += bytes;
      break;
    case ModuleFamily::kEmbedding:
    case ModuleFamily::kHead:
      parts.ends += bytes;
      break;
    case ModuleFamily::kOther:
      break;  // routers
  }
}

double split(double bytes, std::int64_t ways) { return bytes / static_cast<double>(std::max<std::int64_t>(1, ways)); }

}  // namespace

bool is_latent_projection(const WeightTensor& tensor) { return tensor.name == "q_a" || tensor.name == "kv_a"; }

WeightParts weight_parts(const ModelSpec& model) {
  WeightParts parts;
  for (std::size_t kind = 0; kind < model.kinds.size(); ++kind) {
    const auto layers = static_cast<double>(model.layers_of_kind(static_cast<int>(kind)));
    for (const WeightTensor& tensor : layer_weights(model.kinds[kind], model.hidden)) {
      add(parts, tensor, model.kinds[kind].formats, layers);
    }
  }
  for (const WeightTensor& tensor : outer_weights(model)) add(parts, tensor, model.formats, 1);
  return parts;
}

Bytes weights_per_gpu_bound(const ModelSpec& model, const WeightParts& parts, const ParallelConfig& c) {
  const double stage = parts.latent + split(parts.attention, c.tp) + split(parts.experts, c.ep * c.moe_tp) +
                       split(parts.dense, dense_width(model, c)) + split(parts.shared, shared_width(model, c)) +
                       split(parts.ends, c.tp);
  return Bytes(static_cast<std::int64_t>(split(stage, c.pp)));
}

}  // namespace shardplan
