#include "calibrate/kernels/chooser.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include "base/errors.h"
#include "calibrate/token_id.h"

namespace shardplan {
namespace {

std::vector<std::int64_t> best_of(const float* scores, std::int64_t size, std::int64_t count) {
  if (count == 1) return {std::max_element(scores, scores + size) - scores};
  std::vector<std::int64_t> order(static_cast<std::size_t>(size));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) { return scores[a] > scores[b]; });
  order.resize(static_cast<std::size_t>(count));
  return order;
}

}  // namespace

std::vector<std::int64_t> Chooser::choose(std::int64_t token, const float* scores, std::int64_t size, std::int64_t count) const {
  std::vector<std::int64_t> own = best_of(scores, size, count);
  if (record != nullptr) record->record(layer, op, token, own);
  const std::vector<std::int64_t>* other = follow == nullptr ? nullptr : follow->find(layer, op, token);
  if (other == nullptr) return own;
  float most = 0.0F;
  for (std::int64_t i = 0; i < size; ++i) most = std::max(most, std::abs(scores[i]));
  const double least = static_cast<double>(scores[own.back()]) - slack_ratio * static_cast<double>(most);
  for (const std::int64_t chosen : *other) {
    if (static_cast<double>(scores[chosen]) >= least) continue;
    throw InternalError(std::string(op) + " of request " + std::to_string(request_of(token)) + ", position " + std::to_string(position_of(token)) +
                        ": the unsharded run chose " + std::to_string(chosen) + ", which is not among the best here");
  }
  return *other;
}

}  // namespace shardplan
