// Which rank of an EP group is the busiest, drawn anew for each step from the popularity of experts.
//
// A price takes the rank that is busiest on average. In one step of T tokens rank r gets rows about T*share_r with the
// spread of independent picks, and a layer waits for the largest: excess = max_r(rows_r)/(T*max_r share_r) - 1, averaged
// over the layers of a step. Draws are a table of whole numbers, by powers of two of T and by step, with sums over steps: any
// run of steps is one subtraction, and adds up exactly however it is cut. Wrong: the table repeats after kSteps steps,
// and tokens of one request route alike from step to step, which here they do not.
#pragma once

#include <cstdint>
#include <vector>

#include "costmodel/rank_shares.h"

namespace shardplan {

class RoutingDraws {
 public:
  static constexpr std::int64_t kUnit = 4096;      // excess is told in parts of this
  static constexpr std::int64_t kSteps = 1024;

  // `layers`: routed ones of a step.
  RoutingDraws(const std::vector<RankShare>& ranks, std::int64_t layers, std::uint64_t seed);
  // Where a replica begins in the table: no two near each other.
  [[nodiscard]] static std::int64_t first_draw(std::int64_t replica);
  // Sum of the excesses of steps [first, first + count), each of `tokens` tokens of the whole group, times kUnit.
  [[nodiscard]] std::int64_t excess(std::int64_t tokens, std::int64_t first, std::int64_t count) const;

 private:
  std::vector<std::vector<std::int64_t>> sums_;    // by power of two of tokens: sums before each step of the table
};

}  // namespace shardplan
