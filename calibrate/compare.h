// Holds every value of a sharded run against the same tensor of a run on one rank, by global indices.
//
// Non-partial values on every rank as they are; partial sums after adding over their digits; partial attention after
// merging by log-sum-exp. The error is |a - b| / max |b| over the tensor.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "calibrate/executor.h"

namespace shardplan {

struct Comparison {
  double worst_error_ratio = 0;
  double worst_share_ratio = 0;   // largest error over what is allowed there; above 1: it does not hold
  std::string worst_tensor;       // of that
  int worst_rank = -1;
  std::int64_t values = 0;     // (value, rank) pairs compared directly
  std::int64_t partials = 0;   // (value, group) pairs compared after summing or merging
  std::int64_t unheld = 0;     // of both: more than kMostAllowed would be allowed, so that they are held to be finite alone

  void absorb(const Comparison& other);
};

// Where other roundings of the unsharded run make more of a tensor than this share of its largest value, its numbers say nothing.
inline constexpr double kMostAllowed = 0.5;

// What errors are allowed: of a tensor what is listed for it, otherwise `least`, which no tensor goes under.
using TensorErrors = std::map<TensorId, double>;
struct Allowance {
  double least = 0;
  TensorErrors of_tensor{};
};

// Both results are of the same logical graph. InternalError when a tensor has no reference.
[[nodiscard]] Comparison compare(const GraphResult& sharded, const GraphResult& whole, const Allowance& allowance);
// Error of each tensor of one run of a graph against another run of the same; infinity where one has no number.
[[nodiscard]] TensorErrors tensor_errors(const GraphResult& run, const GraphResult& other);

}  // namespace shardplan
