#include "calibrate/kernels/index.h"

#include <algorithm>
#include <limits>
#include <map>

#include "calibrate/token_id.h"

namespace shardplan {
namespace {

constexpr float kNever = -std::numeric_limits<float>::infinity();
constexpr float kAlways = std::numeric_limits<float>::infinity();

std::size_t unit_count(const IndexOp& op) { return static_cast<std::size_t>(op.top_k / op.block); }

void order(std::vector<ScoredUnit>& units) {
  std::sort(units.begin(), units.end(), [](const ScoredUnit& a, const ScoredUnit& b) {
    return a.score > b.score || (a.score == b.score && a.unit < b.unit);
  });
}

// One entry for each unit, with its best score.
std::vector<ScoredUnit> best_of_each(const std::vector<ScoredUnit>& units) {
  std::map<std::int64_t, float> best;
  for (const ScoredUnit& u : units) {
    float& score = best.try_emplace(u.unit, kNever).first->second;
    score = std::max(score, u.score);
  }
  std::vector<ScoredUnit> result;
  for (const auto& [unit, score] : best) result.push_back({unit, score});
  return result;
}

class Scorer {
 public:
  Scorer(const IndexInputs& inputs, const IndexOp& op, const LocalArray& out) : inputs_(inputs), op_(op) {
    const LocalDims tokens{out.dims.front()};
    q_ = offsets_of(inputs.q.dims, tokens, "q of indexer");
    if (inputs.weights != nullptr) weights_ = offsets_of(inputs.weights->dims, tokens, "weights of indexer");
  }

  // Positions (or blocks) that token `id`, the `row`-th, sees among the keys, best first.
  [[nodiscard]] std::vector<ScoredUnit> ranked(std::int64_t id, std::size_t row) const {
    std::vector<ScoredUnit> units;
    for (const LocalArray* keys : inputs_.keys) {
      const auto& ids = keys->dims.front().ids;
      for (std::size_t i = 0; i < ids.size(); ++i) {
        if (request_of(ids[i]) != request_of(id) || position_of(ids[i]) > position_of(id)) continue;
        if ((position_of(ids[i]) + 1) % op_.every != 0) continue;  // no entry ends there
        const std::int64_t unit = position_of(ids[i]) / op_.block;
        const bool own = op_.block > 1 && unit == position_of(id) / op_.block;
        const float* key = keys->values.data() + static_cast<std::int64_t>(i) * op_.dim;
        units.push_back({unit, own ? kAlways : score(row, key)});
      }
    }
    if (op_.block > 1) units = best_of_each(units);
    order(units);
    return units;
  }

 private:
  [[nodiscard]] float score(std::size_t row, const float* key) const {
    float total = op_.weighted ? 0.0F : kNever;
    for (std::int64_t h = 0; h < op_.heads; ++h) {
      const float* q = inputs_.q.values.data() + q_[row] + h * op_.dim;
      float product = 0.0F;
      for (std::int64_t c = 0; c < op_.dim; ++c) product += q[c] * key[c];
      if (op_.weighted)
        total += inputs_.weights->values[weights_[row] + h] * std::max(product, 0.0F);
      else
        total = std::max(total, product);
    }
    return total;
  }

  const IndexInputs& inputs_;
  const IndexOp& op_;
  std::vector<std::int64_t> q_;
  std::vector<std::int64_t> weights_;
};

// Writes the visible positions of the units, ascending, into a token's row of the selection.
void write_positions(std::vector<std::int64_t> units, const IndexOp& op, std::int64_t token, float* row) {
  std::sort(units.begin(), units.end());
  for (const std::int64_t unit : units) {
    for (std::int64_t i = 0; i < op.block; ++i) {
      const std::int64_t position = unit * op.block + i;
      if (position <= position_of(token)) *row++ = static_cast<float>(position);
    }
  }
}

}  // namespace

void choose_positions(const IndexInputs& inputs, const IndexOp& op, const Chooser& chooser, LocalArray& selection) {
  const Scorer scorer(inputs, op, selection);
  const auto& tokens = selection.dims.front().ids;
  std::fill(selection.values.begin(), selection.values.end(), -1.0F);
  for (std::size_t t = 0; t < tokens.size(); ++t) {
    float* row = selection.values.data() + static_cast<std::int64_t>(t) * selection.columns();
    write_positions(chooser.choose(tokens[t], scorer.ranked(tokens[t], t), unit_count(op)), op, tokens[t], row);
  }
}

void name_candidates(const IndexInputs& inputs, const IndexOp& op, const Chooser& chooser, LocalArray& candidates) {
  const Scorer scorer(inputs, op, candidates);
  const auto& tokens = candidates.dims.front().ids;
  for (std::size_t t = 0; t < tokens.size(); ++t) {
    auto named = scorer.ranked(tokens[t], t);
    chooser.move_followed_first(tokens[t], named);
    named.resize(unit_count(op), {-1, kNever});
    float* row = candidates.values.data() + static_cast<std::int64_t>(t) * candidates.columns() * candidates.width;
    for (const ScoredUnit& unit : named) {
      *row++ = static_cast<float>(unit.unit);
      *row++ = unit.score;
    }
  }
}

void choose_among(const LocalArray& candidates, const IndexOp& op, const Chooser& chooser, LocalArray& selection) {
  const auto& tokens = selection.dims.front().ids;
  const auto from = offsets_of(candidates.dims, {selection.dims.front()}, "candidates of indexer");
  std::fill(selection.values.begin(), selection.values.end(), -1.0F);
  for (std::size_t t = 0; t < tokens.size(); ++t) {
    std::vector<ScoredUnit> units;
    for (std::int64_t i = 0; i < candidates.columns(); ++i) {
      const float* pair = candidates.values.data() + (from[t] + i) * candidates.width;
      if (pair[0] >= 0) units.push_back({static_cast<std::int64_t>(pair[0]), pair[1]});
    }
    units = best_of_each(units);
    order(units);
    float* row = selection.values.data() + static_cast<std::int64_t>(t) * selection.columns();
    write_positions(chooser.choose(tokens[t], units, unit_count(op)), op, tokens[t], row);
  }
}

}  // namespace shardplan
