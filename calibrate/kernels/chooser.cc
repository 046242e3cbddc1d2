#include "calibrate/kernels/chooser.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "base/errors.h"
#include "calibrate/token_id.h"

namespace shardplan {
namespace {

std::string place_text(const char* op, std::int64_t token) {
  return std::string(op) + " of request " + std::to_string(request_of(token)) + ", position " + std::to_string(position_of(token)) + ": ";
}

[[noreturn]] void fail(const char* op, std::int64_t token, std::int64_t chosen) {
  throw InternalError(place_text(op, token) + "the unsharded run chose " + std::to_string(chosen) + ", which is not among the best here");
}

bool contains(const std::vector<std::int64_t>& list, std::int64_t unit) { return std::find(list.begin(), list.end(), unit) != list.end(); }

// A followed run hides what the device chose: its worst would only be what others may be as bad as.
void require_best(const char* op, std::int64_t token, const float* scores, std::int64_t size, const std::vector<std::int64_t>& best) {
  std::vector<bool> taken(static_cast<std::size_t>(size), false);
  float worst = std::numeric_limits<float>::infinity();
  for (const std::int64_t unit : best) {
    if (unit < 0 || unit >= size || taken[static_cast<std::size_t>(unit)])
      throw InternalError(place_text(op, token) + "the device chose " + std::to_string(unit) + ", which is none of " + std::to_string(size) + " or chosen twice");
    taken[static_cast<std::size_t>(unit)] = true;
    worst = std::min(worst, scores[unit]);
  }
  for (std::int64_t i = 0; i < size; ++i) {
    if (taken[static_cast<std::size_t>(i)] || !(scores[i] > worst)) continue;
    throw InternalError(place_text(op, token) + "the device left out " + std::to_string(i) + ", which scores above one that it chose");
  }
}

}  // namespace

std::vector<std::int64_t> Chooser::choose(std::int64_t token, const float* scores, std::int64_t size, std::int64_t count) const {
  std::vector<ScoredUnit> ranked;
  for (std::int64_t i = 0; i < size; ++i) ranked.push_back({i, scores[i]});
  if (count == 1 && follow == nullptr) {
    std::swap(ranked.front(), ranked[static_cast<std::size_t>(std::max_element(scores, scores + size) - scores)]);
  } else {
    std::stable_sort(ranked.begin(), ranked.end(), [](const ScoredUnit& a, const ScoredUnit& b) { return a.score > b.score; });
  }
  return choose(token, ranked, static_cast<std::size_t>(count));
}

std::vector<std::int64_t> Chooser::choose(std::int64_t token, const float* scores, std::int64_t size, const std::vector<std::int64_t>& best) const {
  if (follow != nullptr) require_best(op, token, scores, size, best);
  std::vector<ScoredUnit> ranked;
  for (const std::int64_t unit : best) ranked.push_back({unit, scores[unit]});
  for (std::int64_t i = 0; follow != nullptr && i < size; ++i) {
    if (!contains(best, i)) ranked.push_back({i, scores[i]});
  }
  return choose(token, ranked, best.size());
}

std::vector<std::int64_t> Chooser::choose(std::int64_t token, const std::vector<ScoredUnit>& ranked, std::size_t count) const {
  std::vector<std::int64_t> own;
  for (std::size_t i = 0; i < std::min(count, ranked.size()); ++i) own.push_back(ranked[i].unit);
  if (record != nullptr) record->record(layer, op, token, own);
  const std::vector<std::int64_t>* other = follow == nullptr ? nullptr : follow->find(layer, op, token);
  if (other == nullptr || own.empty()) return own;
  double most = 0;
  for (const ScoredUnit& u : ranked) {
    if (std::isfinite(u.score)) most = std::max(most, std::abs(static_cast<double>(u.score)));
  }
  const auto worst = static_cast<double>(ranked[own.size() - 1].score);
  const double slack = std::max(slack_ratio, 2 * follow->shortfall(layer, op)) * most;
  for (const std::int64_t chosen : *other) {
    const auto it = std::find_if(ranked.begin(), ranked.end(), [&](const ScoredUnit& u) { return u.unit == chosen; });
    if (widen != nullptr && it != ranked.end()) widen->widen(layer, op, (worst - static_cast<double>(it->score)) / std::max(most, 1e-30));
    else if (it == ranked.end() || static_cast<double>(it->score) < worst - slack) fail(op, token, chosen);
  }
  return *other;
}

void Chooser::move_followed_first(std::int64_t token, std::vector<ScoredUnit>& ranked) const {
  const std::vector<std::int64_t>* other = follow == nullptr ? nullptr : follow->find(layer, op, token);
  if (other == nullptr) return;
  std::stable_partition(ranked.begin(), ranked.end(), [&](const ScoredUnit& u) { return contains(*other, u.unit); });
}

}  // namespace shardplan
