#include "calibrate/kernels/index.h"

#include <algorithm>
#include <limits>
#include <map>

#include "calibrate/token_id.h"

namespace shardplan {
namespace {

struct Scored {
  std::int64_t position = 0;
  float score = 0;
};

class Chooser {
 public:
  Chooser(const IndexInputs& inputs, const IndexOp& op, const LocalArray& selection) : inputs_(inputs), op_(op) {
    const LocalDims tokens{selection.dims.front()};
    q_ = offsets_of(inputs.q.dims, tokens, "q of indexer");
    if (inputs.weights != nullptr) weights_ = offsets_of(inputs.weights->dims, tokens, "weights of indexer");
  }

  // Positions that token `id`, the `row`-th, attends to.
  [[nodiscard]] std::vector<std::int64_t> positions(std::int64_t id, std::size_t row) const {
    std::vector<Scored> scored;
    for (const LocalArray* keys : inputs_.keys) {
      const auto& ids = keys->dims.front().ids;
      for (std::size_t i = 0; i < ids.size(); ++i) {
        if (request_of(ids[i]) != request_of(id) || position_of(ids[i]) > position_of(id)) continue;
        if ((position_of(ids[i]) + 1) % op_.every != 0) continue;   // no entry ends there
        scored.push_back(
            {position_of(ids[i]), score(row, keys->values.data() + static_cast<std::int64_t>(i) * op_.dim)});
      }
    }
    return op_.block > 1 ? best_blocks(scored, position_of(id) / op_.block) : best(std::move(scored));
  }

 private:
  [[nodiscard]] float score(std::size_t row, const float* key) const {
    float total = op_.weighted ? 0.0F : -std::numeric_limits<float>::infinity();
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

  static void order(std::vector<Scored>& scored) {
    std::sort(scored.begin(), scored.end(), [](const Scored& a, const Scored& b) {
      return a.score > b.score || (a.score == b.score && a.position < b.position);
    });
  }

  [[nodiscard]] std::vector<std::int64_t> best(std::vector<Scored> scored) const {
    order(scored);
    scored.resize(std::min(scored.size(), static_cast<std::size_t>(op_.top_k)));
    std::vector<std::int64_t> chosen;
    for (const Scored& s : scored) chosen.push_back(s.position);
    std::sort(chosen.begin(), chosen.end());
    return chosen;
  }

  [[nodiscard]] std::vector<std::int64_t> best_blocks(const std::vector<Scored>& scored, std::int64_t own) const {
    std::map<std::int64_t, Scored> blocks;
    for (const Scored& s : scored) {
      const std::int64_t block = s.position / op_.block;
      const float value = block == own ? std::numeric_limits<float>::infinity() : s.score;
      Scored& entry = blocks.try_emplace(block, Scored{block, value}).first->second;
      entry.score = std::max(entry.score, value);
    }
    std::vector<Scored> ranked;
    for (const auto& [block, entry] : blocks) ranked.push_back(entry);
    order(ranked);
    ranked.resize(std::min(ranked.size(), static_cast<std::size_t>(op_.top_k / op_.block)));
    std::vector<std::int64_t> chosen;
    for (const Scored& s : scored) {
      const auto is_in = [&](const Scored& r) { return r.position == s.position / op_.block; };
      if (std::any_of(ranked.begin(), ranked.end(), is_in)) chosen.push_back(s.position);
    }
    std::sort(chosen.begin(), chosen.end());
    return chosen;
  }

  const IndexInputs& inputs_;
  const IndexOp& op_;
  std::vector<std::int64_t> q_;
  std::vector<std::int64_t> weights_;
};

}  // namespace

void choose_positions(const IndexInputs& inputs, const IndexOp& op, LocalArray& selection) {
  const Chooser chooser(inputs, op, selection);
  const auto& tokens = selection.dims.front().ids;
  const auto columns = static_cast<std::size_t>(selection.columns());
  std::fill(selection.values.begin(), selection.values.end(), -1.0F);
  for (std::size_t t = 0; t < tokens.size(); ++t) {
    const std::vector<std::int64_t> chosen = chooser.positions(tokens[t], t);
    for (std::size_t i = 0; i < chosen.size(); ++i) selection.values[t * columns + i] = static_cast<float>(chosen[i]);
  }
}

}  // namespace shardplan
