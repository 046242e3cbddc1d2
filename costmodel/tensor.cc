#include "costmodel/tensor.h"

#include <algorithm>

#include "base/errors.h"

namespace shardplan {

const char* part_name(Part part) {
  switch (part) {
    case Part::kEmbedding: return "embedding";
    case Part::kAttention: return "attention";
    case Part::kDenseFfn: return "dense_ffn";
    case Part::kSharedExpert: return "shared_experts";
    case Part::kRouter: return "router";
    case Part::kExperts: return "experts";
    case Part::kHead: return "head";
    case Part::kNorm: return "norms";
    case Part::kDraft: return "draft";
    case Part::kResidual: return "residual";
  }
  return "?";
}

bool Tensor::has(Dim dim) const {
  return std::any_of(dims.begin(), dims.end(), [dim](const DimExtent& d) { return d.dim == dim; });
}

std::int64_t Tensor::extent(Dim dim) const {
  const auto it = std::find_if(dims.begin(), dims.end(), [dim](const DimExtent& d) { return d.dim == dim; });
  ensure(it != dims.end(), "tensor has no such dimension");
  return it->extent;
}

}  // namespace shardplan
