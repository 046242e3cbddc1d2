#include "costmodel/expert_capacity.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <utility>

namespace shardplan {
namespace {

constexpr double kSummedMean = 64;  // above, binomials are as good as normal
constexpr double kNegligible = 1e-12;
constexpr std::int64_t kWholeTokens = 16;
constexpr int kStepsPerOctave = 2;
constexpr int kOctaves = 16;  // above 16 tokens: up to 2^20

// E[min(N, c)] = sum over j < c of P(N > j).
double summed_kept(double p, double tokens, std::int64_t capacity) {
  double mass = std::exp(tokens * std::log1p(-p));  // P(N = j)
  double above = 1 - mass;                          // P(N > j)
  double kept = 0;
  const double odds = p / (1 - p);
  for (std::int64_t j = 0; j < capacity && above > kNegligible; ++j) {
    kept += above;
    mass *= (tokens - static_cast<double>(j)) / static_cast<double>(j + 1) * odds;
    above -= mass;
  }
  return kept;
}

// mean - E[(N - c)+] of the normal with the binomial's mean and deviation.
double normal_kept(double p, double tokens, double capacity) {
  const double mean = p * tokens;
  const double deviation = std::sqrt(mean * (1 - p));
  const double z = (mean - capacity) / deviation;
  const double density = std::exp(-0.5 * z * z) / std::sqrt(2 * std::numbers::pi);
  const double below = 0.5 * std::erfc(-z / std::numbers::sqrt2);
  return mean - deviation * (density + z * below);
}

std::vector<double> token_grid() {
  std::vector<double> grid;
  for (std::int64_t t = 0; t <= kWholeTokens; ++t) grid.push_back(static_cast<double>(t));
  for (int i = 1; i <= kOctaves * kStepsPerOctave; ++i) {
    grid.push_back(std::round(static_cast<double>(kWholeTokens) * std::exp2(static_cast<double>(i) / kStepsPerOctave)));
  }
  return grid;
}

}  // namespace

std::int64_t expert_capacity(std::int64_t tokens, std::int64_t per_token, std::int64_t experts,
                             double capacity_factor_ratio) {
  constexpr double kRounding = 1e-12;  // 1.1 * 10 is 11, not 12
  const double mean = static_cast<double>(tokens) * static_cast<double>(per_token) / static_cast<double>(experts);
  return static_cast<std::int64_t>(std::ceil(capacity_factor_ratio * mean * (1 - kRounding)));
}

double expected_kept(double popularity, std::int64_t tokens, std::int64_t capacity) {
  const auto all = static_cast<double>(tokens);
  const auto most = static_cast<double>(capacity);
  const double mean = popularity * all;
  if (capacity >= tokens || mean <= 0) return mean;
  if (popularity >= 1) return most;
  const double kept = mean <= kSummedMean ? summed_kept(popularity, all, capacity) : normal_kept(popularity, all, most);
  return std::clamp(kept, 0.0, std::min(mean, most));
}

CappedLoad::CappedLoad(std::vector<std::vector<ExpertSlot>> ranks, const TokenVisits& visits, const Shape& shape)
    : ranks_(std::move(ranks)), shape_(shape), grid_(token_grid()) {
  for (const double tokens : grid_) {
    const TokenVisits::BySlot kept = kept_ratios(static_cast<std::int64_t>(tokens));
    double all = 0;
    double most = 0;
    std::size_t busiest = 0;
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      double rows = 0;
      for (std::size_t s = 0; s < ranks_[r].size(); ++s)
        rows += tokens * kept[r][s] * ranks_[r][s].popularity_ratio / ranks_[r][s].copies;
      all += rows;
      if (rows > most) busiest = r;
      most = std::max(most, rows);
    }
    kept_rows_.push_back(all);
    busiest_rows_.push_back(most);
    busiest_rank_.push_back(busiest);
    const std::vector<double> visited = visits.ratios(kept);
    busiest_visits_.push_back(tokens * *std::max_element(visited.begin(), visited.end()));
    mean_visits_.push_back(tokens * std::accumulate(visited.begin(), visited.end(), 0.0) /
                           static_cast<double>(visited.size()));
  }
}

double CappedLoad::dropped_ratio(double tokens) const {
  const std::int64_t whole = std::llround(tokens);
  if (whole <= 0) return 0;
  const TokenVisits::BySlot kept = kept_ratios(whole);
  double dropped = 0;
  for (std::size_t r = 0; r < ranks_.size(); ++r) {
    for (std::size_t s = 0; s < ranks_[r].size(); ++s)
      dropped += (1 - kept[r][s]) * ranks_[r][s].popularity_ratio / ranks_[r][s].copies;
  }
  return std::clamp(dropped / static_cast<double>(shape_.per_token), 0.0, 1.0);
}

ExpertDrops CappedLoad::drops(std::int64_t tokens) const {
  double hottest = 0;
  for (const auto& slots : ranks_) {
    for (const ExpertSlot& slot : slots) hottest = std::max(hottest, slot.popularity_ratio);
  }
  return {shape_.capacity_factor_ratio, tokens,
          expert_capacity(tokens, shape_.per_token, shape_.experts, shape_.capacity_factor_ratio),
          hottest * static_cast<double>(tokens), dropped_ratio(static_cast<double>(tokens))};
}

double CappedLoad::least_kept_ratio() const {
  double least = 1;
  for (std::size_t i = 1; i < grid_.size(); ++i)
    least = std::min(least, kept_rows_[i] / (grid_[i] * static_cast<double>(shape_.per_token)));
  return least;
}

TokenVisits::BySlot CappedLoad::kept_ratios(std::int64_t tokens) const {
  const std::int64_t capacity = expert_capacity(tokens, shape_.per_token, shape_.experts, shape_.capacity_factor_ratio);
  TokenVisits::BySlot kept;
  for (const auto& slots : ranks_) {
    auto& rank = kept.emplace_back();
    for (const ExpertSlot& slot : slots) {
      const double picked = slot.popularity_ratio * static_cast<double>(tokens);
      rank.push_back(picked > 0 ? expected_kept(slot.popularity_ratio, tokens, capacity) / picked : 1);
    }
  }
  return kept;
}

const std::vector<ExpertSlot>& CappedLoad::busiest_slots(double tokens) const {
  return ranks_[busiest_rank_[step_above(tokens)]];
}

std::size_t CappedLoad::step_above(double tokens) const {
  return static_cast<std::size_t>(std::upper_bound(grid_.begin() + 1, grid_.end() - 1, tokens) - grid_.begin());
}

double CappedLoad::at(const std::vector<double>& table, double tokens) const {
  if (tokens >= grid_.back()) return table.back() * tokens / grid_.back();
  const std::size_t i = step_above(tokens);
  const double share = (std::max(0.0, tokens) - grid_[i - 1]) / (grid_[i] - grid_[i - 1]);
  return table[i - 1] + (table[i] - table[i - 1]) * share;
}

}  // namespace shardplan
