// What the ranks of an EP group get of a token's picks, on average and how far a step may be from it.
//
// Tokens pick independently (expert_load.h): of T tokens rank r gets T*rows_per_token +/- sqrt(T*variance_per_token).
#pragma once

#include <cstdint>
#include <vector>

#include "costmodel/expert_load.h"

namespace shardplan {

struct RankShare {
  double rows_per_token_ratio = 0;       // (token, expert) rows; they add up to per_token
  double variance_per_token_ratio = 0;   // of them: sum of p(1-p) over its slots
};

// The same placement as ExpertLoadModel's; its preconditions and errors.
[[nodiscard]] std::vector<RankShare> rank_shares(const ExpertLoad& load, std::int64_t experts, std::int64_t per_token, std::int64_t ep, std::int64_t redundant);

// Expected share of tokens that pick each expert; they sum to per_token, none is above 1.
[[nodiscard]] std::vector<double> expert_popularity(const ExpertLoad& load, std::int64_t experts, std::int64_t per_token);

// Expert ids in the slots of each rank under that placement.
[[nodiscard]] std::vector<std::vector<std::int64_t>> expert_slots(const ExpertLoad& load, std::int64_t experts, std::int64_t per_token, std::int64_t ep,
                                                                  std::int64_t redundant);

}  // namespace shardplan
