#include "calibrate/run/drawn_routing.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/errors.h"
#include "costmodel/rank_shares.h"

namespace shardplan {
namespace {

class Draws {
 public:
  double next() {  // in [0, 1)
    state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<double>(state_ >> 11U) / 9007199254740992.0;
  }
  std::size_t below(std::size_t count) { return static_cast<std::size_t>(next() * static_cast<double>(count)); }

 private:
  std::uint64_t state_ = 0x9E3779B97F4A7C15ULL;
};

// Experts in whose stretch of the running sum a point start, start + 1, ... falls: no stretch is longer than 1.
void pick(const std::vector<double>& popularity, std::vector<std::int32_t>& order, std::size_t count, Draws& draws,
          std::vector<std::int32_t>& picks) {
  for (std::size_t left = order.size(); left > 1; --left) std::swap(order[left - 1], order[draws.below(left)]);
  const std::size_t wanted = picks.size() + count;
  double point = draws.next();
  double sum = 0;
  for (const std::int32_t expert : order) {
    sum += popularity[static_cast<std::size_t>(expert)];
    if (picks.size() == wanted || point >= sum) continue;
    picks.push_back(expert);
    point += 1;
  }
  if (picks.size() < wanted) {  // the sum of rounded popularities fell short of the last point
    const auto taken = picks.end() - static_cast<std::ptrdiff_t>(count - (wanted - picks.size()));
    const auto last = std::find_if(order.rbegin(), order.rend(),
                                   [&](std::int32_t e) { return std::find(taken, picks.end(), e) == picks.end(); });
    picks.push_back(*last);
  }
}

}  // namespace

DrawnRouting draw_routing(const ExpertLoad& load, std::int64_t experts, std::int64_t per_token, std::int64_t tokens) {
  const std::vector<double> popularity = expert_popularity(load, experts, per_token);
  std::vector<std::int32_t> order(popularity.size());
  std::iota(order.begin(), order.end(), 0);
  DrawnRouting routing{per_token, {}};
  routing.picks.reserve(static_cast<std::size_t>(tokens * per_token));
  Draws draws;
  for (std::int64_t t = 0; t < tokens; ++t)
    pick(popularity, order, static_cast<std::size_t>(per_token), draws, routing.picks);
  return routing;
}

std::int64_t RankRows::rows() const { return std::accumulate(of_expert.begin(), of_expert.end(), std::int64_t{0}); }

std::int64_t RankRows::active() const {
  return std::count_if(of_expert.begin(), of_expert.end(), [](std::int64_t rows) { return rows > 0; });
}

std::int64_t RankRows::fullest() const { return *std::max_element(of_expert.begin(), of_expert.end()); }

std::int64_t RankRows::tiles(std::int64_t tile_rows) const {
  return std::accumulate(of_expert.begin(), of_expert.end(), std::int64_t{0},
                         [&](std::int64_t sum, std::int64_t rows) { return sum + (rows + tile_rows - 1) / tile_rows; });
}

RankRows busiest_rank_rows(const DrawnRouting& routing, const ExpertLoad& load, std::int64_t experts, std::int64_t ep) {
  const auto shares = rank_shares(load, experts, routing.per_token, ep, 0);
  const auto busiest = std::max_element(shares.begin(), shares.end(), [](const RankShare& a, const RankShare& b) {
    return a.rows_per_token_ratio < b.rows_per_token_ratio;
  });
  const std::int64_t rank = busiest - shares.begin();
  RankRows rows{.first_expert = rank * (experts / ep) + std::min(rank, experts % ep), .of_expert = {}};
  rows.of_expert.assign(static_cast<std::size_t>(experts / ep + (rank < experts % ep ? 1 : 0)), 0);
  for (const std::int32_t expert : routing.picks) {
    const std::int64_t local = expert - rows.first_expert;
    if (local >= 0 && local < std::ssize(rows.of_expert)) ++rows.of_expert[static_cast<std::size_t>(local)];
  }
  return rows;
}

}  // namespace shardplan
