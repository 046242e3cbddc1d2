// Proves every legal configuration of a grid and reports what did not hold.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "calibrate/proof.h"
#include "costmodel/lower.h"

namespace shardplan {

struct SweepReport {
  std::int64_t configs = 0;
  std::int64_t proven = 0;
  std::int64_t refused = 0;                  // by lowering, with a rule's name
  ProofResult total;
  std::vector<std::string> failures;         // the first few
};

struct SweepGrid {
  std::vector<std::int64_t> ranks;
  std::int64_t every = 1;                    // proves one of so many, by position in the grid
  std::function<bool(const ParallelConfig&)> only = [](const ParallelConfig&) { return true; };
};

// All factorisations of `ranks` and all variants, in all three forms, over every layer kind.
[[nodiscard]] SweepReport sweep(const ModelSpec& model, const SweepGrid& grid);
// Every legal configuration of the grid.
[[nodiscard]] std::vector<ParallelConfig> legal_configs(const ModelSpec& model, const SweepGrid& grid);

}  // namespace shardplan
