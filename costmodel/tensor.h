// A tensor of the logical graph: named dimensions, lifetime and element format; the same for every strategy.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "costmodel/batch.h"
#include "costmodel/placement.h"
#include "models/number_format.h"

namespace shardplan {

// Which part of the model a tensor belongs to: what strategies place, and what the ledger adds up by.
enum class Part : std::uint8_t { kEmbedding, kAttention, kDenseFfn, kSharedExpert, kRouter, kExperts, kHead, kNorm, kDraft, kResidual };
[[nodiscard]] const char* part_name(Part part);

enum class Lifetime : std::uint8_t { kWeight, kCache, kActivation };

using TensorId = std::int32_t;

struct DimExtent {
  Dim dim;
  std::int64_t extent = 0;   // 0 for the ragged dimensions
};

using DimList = InlineVector<DimExtent, 4>;

struct Tensor {
  const char* name = "";     // a string literal: "w_q", "x", "cache_k", ...
  Part part = Part::kAttention;
  Lifetime lifetime = Lifetime::kActivation;
  Phase phase = Phase::kAll; // of ragged dimensions
  DimList dims;
  const NumberFormat* format = nullptr;  // how its elements are stored and sent
  // Caches and views of them: which positions have a row. Compressed entries: the last of every so many; behind a window:
  // those that the step's first new token still sees.
  std::int64_t every = 1;
  std::int64_t window = 0;
  std::int64_t stripe = 1;   // positions that stripes keep together, times the interleave (entries and what goes into them)
  // Weights: which of dims are the outputs (rows) of the product, for block scales and rules.
  InlineVector<Dim, 4> output_dims;

  [[nodiscard]] bool has(Dim dim) const;
  [[nodiscard]] std::int64_t extent(Dim dim) const;   // InternalError when absent
};

}  // namespace shardplan
