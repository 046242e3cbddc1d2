// One rank's local part of a value: which global indices it holds along each dimension, and the numbers.
//
// Values are fp32 and row-major whatever format the tensor declares. A partial attention output carries its
// log-sum-exp beside it, one number per element of all dimensions but the last.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "costmodel/placement.h"

namespace shardplan {

struct LocalDim {
  Dim dim = Dim::kTokens;
  std::vector<std::int64_t> ids;   // global indices, in storage order; token_id for the ragged dimensions
  friend bool operator==(const LocalDim&, const LocalDim&) = default;
};
using LocalDims = std::vector<LocalDim>;

[[nodiscard]] std::int64_t element_count(const LocalDims& dims);

struct LocalArray {
  LocalDims dims;
  int width = 1;                   // floats per element; a routing entry is an expert id and a weight: 2
  std::vector<float> values;       // element_count(dims) * width
  std::vector<float> lse;          // empty, or one per row

  LocalArray() = default;
  // All zeros; LSE, if any, minus infinity.
  explicit LocalArray(LocalDims local_dims, int floats_per_element = 1, bool with_lse = false);

  [[nodiscard]] std::int64_t elements() const { return element_count(dims); }
  [[nodiscard]] std::int64_t columns() const;  // of the last dimension
  [[nodiscard]] std::int64_t rows() const;     // elements / columns; counted, so right with empty columns too
  [[nodiscard]] bool has(Dim dim) const;
  // InternalError when absent.
  [[nodiscard]] const std::vector<std::int64_t>& ids(Dim dim) const;
};

// All dimensions but the last: those of the LSE.
[[nodiscard]] LocalDims row_dims(const LocalDims& dims);

// For each wanted id its index in `held`, or -1.
[[nodiscard]] std::vector<std::int64_t> index_map(const std::vector<std::int64_t>& wanted, const std::vector<std::int64_t>& held);

// Element offsets in `array` of every combination of `dims`, row-major in their order; dimensions that the array lacks
// add nothing. InternalError, naming `what` and the element, when the array does not hold one.
[[nodiscard]] std::vector<std::int64_t> offsets_of(const LocalDims& array, const LocalDims& dims, const char* what);

}  // namespace shardplan
