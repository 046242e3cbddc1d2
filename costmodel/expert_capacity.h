// A capacity factor: no expert takes more than C tokens of a step; the rest is dropped, and its residual carries it.
//
//   C = ceil(CF*T*k/E),   T tokens of all ranks that share the expert (one EP group)
// An expert of popularity p is picked by N ~ Binomial(T, p) tokens and keeps min(N, C). E[min(N, C)] is summed exactly
// up to a mean of 64 tokens, and is that of the normal above. Who is dropped: the last tokens in the order of (request,
// position). Source: GShard (arXiv 2006.16668), Switch (arXiv 2101.03961). Wrong where consecutive tokens route alike:
// more is dropped.
#pragma once

#include <cstdint>
#include <vector>

#include "costmodel/token_visits.h"

namespace shardplan {

// Slots an expert offers with a capacity factor: ceil(factor*T*k/E). (1024, 2, 64, 1.25) -> 40.
[[nodiscard]] std::int64_t expert_capacity(std::int64_t tokens, std::int64_t per_token, std::int64_t experts,
                                           double capacity_factor_ratio);
// E[min(N, capacity)], N ~ Binomial(tokens, popularity): from 0 to the lesser of capacity and tokens*popularity.
[[nodiscard]] double expected_kept(double popularity_ratio, std::int64_t tokens, std::int64_t capacity);

// What a step drops: of how many tokens an expert takes how many, what the most popular one is asked for, and the share
// of all picks that finds no room.
struct ExpertDrops {
  double capacity_factor_ratio = 0;
  std::int64_t tokens = 0;  // of the step, that share the experts
  std::int64_t capacity = 0;
  double hottest_tokens = 0;  // expected, of the most popular expert
  double dropped_ratio = 0;   // in [0, 1)
};

// A physical slot of an EP group: its expert's popularity, and how many slots share that expert.
struct ExpertSlot {
  double popularity_ratio = 0;
  double copies = 1;
};

// Loads of an EP group under a capacity factor. `tokens` are those of the whole group, before top-k; interpolated
// between whole numbers of tokens up to 16 and half powers of two above, but for dropped_ratio.
class CappedLoad {
 public:
  struct Shape {
    std::int64_t experts = 1;
    std::int64_t per_token = 1;
    double capacity_factor_ratio = 1;
  };
  CappedLoad(std::vector<std::vector<ExpertSlot>> ranks, const TokenVisits& visits, const Shape& shape);

  [[nodiscard]] double busiest_rows(double tokens) const { return at(busiest_rows_, tokens); }
  [[nodiscard]] double kept_rows(double tokens) const { return at(kept_rows_, tokens); }  // of all ranks
  // Times tokens: expected visits to the most visited rank, and to a rank on average.
  [[nodiscard]] double busiest_visits(double tokens) const { return at(busiest_visits_, tokens); }
  [[nodiscard]] double mean_visits(double tokens) const { return at(mean_visits_, tokens); }
  // Share of (token, expert) rows that is dropped: 1 - E[kept]/(T*k), exact in T; in [0, 1), 0 for no tokens.
  [[nodiscard]] double dropped_ratio(double tokens) const;
  [[nodiscard]] ExpertDrops drops(std::int64_t tokens) const;
  [[nodiscard]] double least_kept_ratio() const;  // of all rows, over any number of tokens
  [[nodiscard]] const std::vector<ExpertSlot>& busiest_slots(double tokens) const;  // of the rank with most rows
  [[nodiscard]] const Shape& shape() const { return shape_; }
  [[nodiscard]] const std::vector<std::vector<ExpertSlot>>& ranks() const { return ranks_; }

 private:
  [[nodiscard]] std::size_t step_above(double tokens) const;  // of the tables, from 1
  [[nodiscard]] double at(const std::vector<double>& table, double tokens) const;
  [[nodiscard]] TokenVisits::BySlot kept_ratios(std::int64_t tokens) const;

  std::vector<std::vector<ExpertSlot>> ranks_;
  Shape shape_;
  std::vector<double> grid_;  // tokens of the tables' entries
  std::vector<double> busiest_rows_, kept_rows_, busiest_visits_, mean_visits_;
  std::vector<std::size_t> busiest_rank_;
};

}  // namespace shardplan
