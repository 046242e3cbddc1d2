#include "costmodel/token_visits.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

namespace shardplan {
namespace {

constexpr std::int64_t kMaxDegree = 64;

using Polynomial = std::vector<double>;  // coefficients 0..k

Polynomial one(std::size_t degree) {
  Polynomial result(degree + 1, 0.0);
  result[0] = 1;
  return result;
}

double product_coefficient(const Polynomial& a, const Polynomial& b, std::size_t degree) {
  double sum = 0;
  for (std::size_t i = 0; i <= degree; ++i) sum += a[i] * b[degree - i];
  return sum;
}

// result *= 1 + odds*x, truncated.
void multiply(Polynomial& result, double odds) {
  for (std::size_t i = result.size() - 1; i > 0; --i) result[i] += odds * result[i - 1];
}

// Entry s: the product over slots s, s+1, ...
std::vector<Polynomial> suffix_products(const std::vector<double>& odds, std::size_t degree) {
  std::vector<Polynomial> after(odds.size() + 1, one(degree));
  for (std::size_t s = odds.size(); s > 0; --s) {
    after[s - 1] = after[s];
    multiply(after[s - 1], odds[s - 1]);
  }
  return after;
}

// P(slot picked) for given odds.
std::vector<double> pick_ratios(const std::vector<double>& odds, std::size_t degree) {
  const std::vector<Polynomial> after = suffix_products(odds, degree);
  std::vector<double> picks;
  Polynomial before = one(degree);
  for (std::size_t s = 0; s < odds.size(); ++s) {
    picks.push_back(odds[s] * product_coefficient(before, after[s + 1], degree - 1) / after[0][degree]);
    multiply(before, odds[s]);
  }
  return picks;
}

// p/(1-p), over the geometric mean of the k largest: scaling all alike changes nothing but keeps e_k within range.
std::vector<double> first_odds(const std::vector<double>& slots, std::size_t degree) {
  constexpr double kLeast = 1e-6;  // a popularity of 1 would have infinite odds
  std::vector<double> odds;
  for (const double p : slots) odds.push_back(p / std::max(kLeast, 1 - p));
  std::vector<double> largest = odds;
  std::partial_sort(largest.begin(), largest.begin() + static_cast<std::ptrdiff_t>(degree), largest.end(),
                    std::greater<>());
  double log_sum = 0;
  for (std::size_t i = 0; i < degree; ++i) log_sum += std::log(largest[i]);
  const double scale = std::exp(-log_sum / static_cast<double>(degree));
  for (double& w : odds) w *= scale;
  return odds;
}

std::vector<double> fitted_odds(const std::vector<double>& slots, std::size_t degree) {
  constexpr int kMaxRounds = 20;
  constexpr double kTolerance = 1e-5;
  std::vector<double> odds = first_odds(slots, degree);
  for (int round = 0; round < kMaxRounds; ++round) {
    const std::vector<double> picks = pick_ratios(odds, degree);
    double worst = 0;
    for (std::size_t s = 0; s < slots.size(); ++s) {
      worst = std::max(worst, std::abs(picks[s] - slots[s]));
      if (picks[s] > 0) odds[s] *= slots[s] / picks[s];
    }
    if (worst < kTolerance) break;
  }
  return odds;
}

}  // namespace

TokenVisits::TokenVisits(BySlot popularity, std::int64_t per_token)
    : popularity_(std::move(popularity)), degree_(static_cast<std::size_t>(per_token)) {
  if (per_token > kMaxDegree) return;
  std::vector<double> all;
  for (const auto& slots : popularity_) all.insert(all.end(), slots.begin(), slots.end());
  odds_ = fitted_odds(all, degree_);
  after_ = suffix_products(odds_, degree_);
}

std::vector<double> TokenVisits::ratios() const {
  BySlot all = popularity_;
  for (auto& slots : all) std::fill(slots.begin(), slots.end(), 1.0);
  return ratios(all);
}

std::vector<double> TokenVisits::ratios(const BySlot& kept) const {
  std::vector<double> visits;
  if (odds_.empty()) {  // 1 - prod (1-p): good when k is large, and free of overflow
    for (std::size_t r = 0; r < popularity_.size(); ++r) {
      double miss = 1;
      for (std::size_t s = 0; s < popularity_[r].size(); ++s) miss *= 1 - popularity_[r][s] * kept[r][s];
      visits.push_back(1 - miss);
    }
    return visits;
  }
  Polynomial before = one(degree_);
  std::size_t next = 0;
  for (const auto& slots : kept) {
    const std::size_t first = next;
    next += slots.size();
    Polynomial missed = before;  // slots of other ranks before, and picks of this rank that are dropped
    for (std::size_t s = 0; s < slots.size(); ++s) multiply(missed, odds_[first + s] * (1 - slots[s]));
    visits.push_back(std::clamp(1 - product_coefficient(missed, after_[next], degree_) / after_[0][degree_], 0.0, 1.0));
    for (std::size_t s = first; s < next; ++s) multiply(before, odds_[s]);
  }
  return visits;
}

}  // namespace shardplan
