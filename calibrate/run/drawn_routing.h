// Which experts the tokens of a step go to, drawn from the load that the price assumes: what grouped products are
// measured with.
//
// A token takes k distinct experts, each with its popularity (systematic sampling over an order of the experts that is
// drawn anew for every token), and tokens know nothing of one another. The same load and count give the same draw.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "costmodel/expert_load.h"

namespace shardplan {

struct DrawnRouting {
  std::int64_t per_token = 1;
  std::vector<std::int32_t> picks;  // [tokens, per_token]
  [[nodiscard]] std::int64_t tokens() const { return static_cast<std::int64_t>(picks.size()) / per_token; }
};

// InputError where a histogram does not fit the model.
[[nodiscard]] DrawnRouting draw_routing(const ExpertLoad& load, std::int64_t experts, std::int64_t per_token,
                                        std::int64_t tokens);

// What the rank that expects most gets of it. Ranks hold experts one behind the other, the first ones more where they
// do not divide.
struct RankRows {
  std::int64_t first_expert = 0;
  std::vector<std::int64_t> of_expert;  // rows of each expert that the rank holds
  [[nodiscard]] std::int64_t rows() const;
  [[nodiscard]] std::int64_t active() const;   // experts with rows
  [[nodiscard]] std::int64_t fullest() const;  // rows of the one with most
  // When every expert's rows are cut into tiles by themselves.
  [[nodiscard]] std::int64_t tiles(std::int64_t tile_rows) const;
};
[[nodiscard]] RankRows busiest_rank_rows(const DrawnRouting& routing, const ExpertLoad& load, std::int64_t experts,
                                         std::int64_t ep);

}  // namespace shardplan
